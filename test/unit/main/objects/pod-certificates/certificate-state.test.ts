import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodCertificateRequest } from '../../../../../src/main/objects/pod-certificates/certificate-request.ts';
import {
  abandonAtMs,
  afterRequestStatus,
  afterRequest,
  ageWarnings,
  needsRequest,
  nextCheckAtMs,
  stateLabel,
  type CertificateState,
} from '../../../../../src/main/objects/pod-certificates/certificate-state.ts';
import { table } from '../../../../support/table.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const pending = { uid: 'r', name: 'req-1', keyPEM: 'new key', abandonAtMs: 10 * minuteMs };
const issued = { keyPEM: 'key', chainPEM: 'chain', beginRefreshAtMs: hourMs, notAfterMs: 3 * hourMs };
const initial: CertificateState = { state: 'initial' };
const wait: CertificateState = { state: 'wait', pending };
const fresh: CertificateState = { state: 'fresh', issued };
const waitRefresh: CertificateState = { state: 'waitRefresh', issued, pending };
const denied: CertificateState = { state: 'denied', reason: 'UnsupportedKeyType', message: 'use RSA' };

const aRequest = (status: PodCertificateRequest['status']): PodCertificateRequest => ({
  metadata: { name: 'req-1', uid: 'r' },
  ...(status && { status }),
});
const answered = {
  conditions: [{ type: 'Issued' }],
  certificateChain: 'new chain',
  beginRefreshAt: '1970-01-01T02:00:00Z',
  notAfter: '1970-01-01T04:00:00Z',
};
const renewed: CertificateState = {
  state: 'fresh',
  issued: { keyPEM: 'new key', chainPEM: 'NEW CHAIN', beginRefreshAtMs: 2 * hourMs + 2.5 * minuteMs, notAfterMs: 4 * hourMs },
};

const transitions: [name: string, CertificateState, PodCertificateRequest | null, nowMs: number, want: CertificateState][] = [
  ['a pending request changes nothing', wait, aRequest({}), 0, wait],
  ['a request that the watch has not delivered changes nothing', wait, null, 10 * minuteMs, wait],
  ['a request that is missing for ten minutes was deleted, and is created again', wait, null, 10 * minuteMs + 1, initial],
  ['a deleted renewal keeps the old certificate', waitRefresh, null, hourMs, fresh],
  ['an issued certificate is fresh and due at beginRefreshAt plus up to five minutes', wait, aRequest(answered), 0, renewed],
  ['a renewed certificate replaces the old one', waitRefresh, aRequest(answered), hourMs, renewed],
  [
    'a denied request is final',
    wait,
    aRequest({ conditions: [{ type: 'Denied', reason: 'UnsupportedKeyType', message: 'use RSA' }] }),
    0,
    denied,
  ],
  [
    'a failed renewal is final',
    waitRefresh,
    aRequest({ conditions: [{ type: 'Other' }, { type: 'Failed', reason: 'R', message: 'M' }] }),
    0,
    { state: 'failed', reason: 'R', message: 'M' },
  ],
  [
    'an issued certificate without its times fails',
    wait,
    aRequest({ ...answered, notAfter: 'soon' }),
    0,
    { state: 'failed', reason: 'Invalid', message: 'it was issued without saying from when and until when it is good' },
  ],
  ['a final state ignores requests', denied, aRequest(answered), 0, denied],
];
table('the state after the pending request’s status', (row) => {
  for (const [name, state, request, nowMs, want] of transitions) {
    row(name, () => {
      const next = afterRequestStatus(state, request, { nowMs, random: 0.5, cleanChain: (pem) => pem.toUpperCase() });
      assert.deepEqual(next, want);
      if (want === state) assert.equal(next, state);
    });
  }
});

test('on a node whose clock is ahead a new certificate is renewed after at least a minute', () => {
  const facts = { nowMs: 24 * hourMs, random: 0, cleanChain: (pem: string) => pem };
  const next = afterRequestStatus(wait, aRequest(answered), facts);
  assert.equal(next.state === 'fresh' && next.issued.beginRefreshAtMs, 24 * hourMs + minuteMs);
});

const requestCases = [
  ['a new pod', initial, 0, true],
  ['a certificate that is not due', fresh, hourMs - 1, false],
  ['a due certificate', fresh, hourMs, true],
  ['a certificate with a pending renewal', waitRefresh, 2 * hourMs, false],
  ['a denied certificate', denied, 2 * hourMs, false],
] as const;
table('only due certificates need a request', (row) => {
  for (const [name, state, nowMs, want] of requestCases) row(name, () => assert.equal(needsRequest(state, nowMs), want));
});

const ages = [
  [initial, 0, 'not_yet_issued', [], undefined],
  [wait, 0, 'not_yet_issued', [], 10 * minuteMs + 1],
  [wait, 11 * minuteMs, 'not_yet_issued', [], undefined],
  [denied, 0, 'denied', [], undefined],
  [fresh, 0, 'fresh', [], hourMs],
  [fresh, hourMs, 'fresh', [], hourMs + 10 * minuteMs + 1],
  [waitRefresh, 0, 'fresh', [], 10 * minuteMs + 1],
  [waitRefresh, hourMs + 10 * minuteMs + 1, 'overdue_for_refresh', ['CertificateOverdueForRefresh'], 3 * hourMs + 1],
  [waitRefresh, 3 * hourMs + 1, 'expired', ['CertificateOverdueForRefresh', 'CertificateExpired'], undefined],
] as const;
table('labels, warnings and the next check of a certificate over time', (row) => {
  for (const [state, nowMs, label, warnings, next] of ages) {
    row(`${state.state} at ${nowMs / minuteMs} min`, () => {
      assert.deepEqual([stateLabel(state, nowMs), ageWarnings(state, nowMs), nextCheckAtMs(state, nowMs)], [label, warnings, next]);
    });
  }
});

test('a created request changes only states that need one', () => {
  assert.deepEqual(afterRequest(initial, pending), wait);
  assert.deepEqual(afterRequest(fresh, pending), waitRefresh);
  assert.equal(afterRequest(denied, pending), denied);
  assert.equal(abandonAtMs(0, 0.5), 12.5 * minuteMs);
});
