import assert from 'node:assert/strict';
import { test } from 'node:test';
import { renewAtMs } from '../../../../src/main/objects/token-lifetime.ts';
import { TokenManager } from '../../../../src/main/objects/token-manager.ts';
import type { TokenRef } from '../../../../src/shared/contracts/pod-objects.ts';
import { apiError, FakeApi } from '../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';
import { table } from '../../../support/table.ts';

const hourMs = 3_600_000;
for (const [name, expirationSeconds, random, wantSeconds] of [
  ['at 80 % of its lifetime', 3600, 0, 2880],
  ['up to ten seconds sooner', 3600, 0.99, 2871],
  ['after a day when its lifetime is longer', 30 * 86_400, 0, 86_400],
] as const) {
  test(`a token is renewed ${name}`, () => {
    assert.equal(renewAtMs({ expiresAtMs: expirationSeconds * 1000, expirationSeconds }, random), wantSeconds * 1000);
  });
}

const path = '/api/v1/namespaces/default/serviceaccounts/sa/token';
const aRef = (fields: Partial<TokenRef> = {}): TokenRef => ({
  kind: 'Token',
  namespace: 'default',
  serviceAccountName: 'sa',
  podName: 'web',
  podUID: 'uid-1',
  audience: '',
  expirationSeconds: 3600,
  ...fields,
});

function aManager() {
  const clock = new FakeClock();
  const api = new FakeApi();
  const due: string[] = [];
  const { logger, lines } = aLogger();
  let count = 0;
  const grant = () => ({
    spec: { expirationSeconds: 3600 },
    status: { token: `token-${(count += 1)}`, expirationTimestamp: new Date(clock.now() + hourMs).toISOString() },
  });
  api.on('POST', path, grant);
  const manager = new TokenManager({ client: api, clock, logger, random: () => 0, onDue: (uid) => due.push(uid) });
  return { clock, api, due, manager, lines };
}

test('concurrent requests share one token, bound to its pod', async () => {
  const { api, manager } = aManager();
  assert.deepEqual(await Promise.all([manager.get(aRef()), manager.get(aRef())]), ['token-1', 'token-1']);
  assert.equal(await manager.get(aRef()), 'token-1');
  assert.deepEqual(
    api.calls.map(({ body }) => body),
    [
      {
        apiVersion: 'authentication.k8s.io/v1',
        kind: 'TokenRequest',
        spec: { audiences: [], expirationSeconds: 3600, boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'uid-1' } },
      },
    ],
  );
  assert.equal(await manager.get(aRef({ audience: 'vault' })), 'token-2');
  assert.partialDeepStrictEqual(api.calls[1]?.body, { spec: { audiences: ['vault'] } });
});

test('a due token notifies its pod, and the next request renews it', async () => {
  const { clock, due, manager } = aManager();
  await manager.get(aRef());
  await clock.advance(0.8 * hourMs - 1000);
  assert.deepEqual([due, await manager.get(aRef())], [[], 'token-1']);
  await clock.advance(1001);
  assert.deepEqual([due, await manager.get(aRef())], [['uid-1'], 'token-2']);
});

test('a token that cannot be renewed is used until it expires, with a retry every minute', async () => {
  const { clock, api, due, manager } = aManager();
  await manager.get(aRef());
  api.on('POST', path, apiError(0, 'Unreachable', 'no route'));
  await clock.advance(0.8 * hourMs + 1);
  assert.equal(await manager.get(aRef()), 'token-1');
  await clock.advance(60_000);
  assert.deepEqual(due, ['uid-1', 'uid-1']);
  await clock.advance(0.2 * hourMs);
  await assert.rejects(manager.get(aRef()), {
    reason: 'Unreachable',
    message: 'token "sa"/"default" expired and refresh failed: no route',
  });
});

test('on a node whose clock is ahead a token that is due at once is not requested repeatedly', async () => {
  const { clock, api, due, manager } = aManager();
  const late = { spec: { expirationSeconds: 3600 }, status: { token: 't', expirationTimestamp: new Date(clock.now()).toISOString() } };
  api.on('POST', path, late);
  await manager.get(aRef());
  await clock.advance(59_000);
  assert.deepEqual(due, []);
  await clock.advance(1000);
  assert.deepEqual(due, ['uid-1']);
});

test('the first request is retried because the API server may not know the pod’s binding yet', async () => {
  const { clock, api, manager } = aManager();
  api.once('POST', path, apiError(403, 'Forbidden')).once('POST', path, apiError(404, 'NotFound'));
  const token = manager.get(aRef());
  await clock.advance(50);
  await clock.advance(150);
  assert.equal(await token, 'token-1');
});

test('a missing service account is an error with the server’s reason', async () => {
  const { clock, api, manager } = aManager();
  api.on('POST', path, apiError(404, 'NotFound', 'serviceaccounts "sa" not found'));
  const token = assert.rejects(manager.get(aRef()), {
    reason: 'NotFound',
    message: 'failed to fetch token: serviceaccounts "sa" not found',
  });
  await clock.advance(1000);
  await token;
  assert.equal(api.calls.length, 4);
});

test('forgetting a pod drops its tokens and timers', async () => {
  const { clock, due, manager } = aManager();
  await manager.get(aRef());
  manager.forget('uid-1');
  await clock.advance(2 * hourMs);
  assert.deepEqual(due, []);
  assert.equal(await manager.get(aRef()), 'token-2');
});

test('tokens are never logged', async () => {
  const { api, manager, lines } = aManager();
  api.once('POST', path, { status: { token: 'secret' } });
  await assert.rejects(manager.get(aRef()), /without a token/);
  manager.prefetch(aRef());
  await settle();
  assert.doesNotMatch(JSON.stringify(lines), /secret|token-1/);
});

const startSeconds = Date.UTC(2026, 0, 1) / 1000;
const aToken = (claims: object = {}) => {
  const all = {
    sub: 'system:serviceaccount:default:sa',
    aud: ['https://kubernetes.default.svc'],
    iat: startSeconds,
    exp: startSeconds + 365 * 86_400,
    'kubernetes.io': { pod: { name: 'web', uid: 'uid-1' } },
    ...claims,
  };
  return `header.${Buffer.from(JSON.stringify(all)).toString('base64url')}.signature`;
};

test('a token on disk from an earlier kubelet is used, and renewed within minutes', async () => {
  const { clock, api, due, manager } = aManager();
  const onDisk = aToken();
  assert.equal(await manager.get(aRef({ onDisk })), onDisk);
  await clock.advance(59_000);
  assert.equal(await manager.get(aRef({ onDisk })), onDisk);
  assert.deepEqual([due, api.calls], [[], []]);
  await clock.advance(241_001);
  assert.deepEqual([due, await manager.get(aRef({ onDisk }))], [['uid-1'], 'token-1']);
});

table('an unsuitable token on disk is not used', (row) => {
  for (const [kind, onDisk, ref] of [
    ['old', aToken({ iat: startSeconds - 3000 }), {}],
    ['of another pod', aToken({ 'kubernetes.io': { pod: { uid: 'uid-2' } } }), {}],
    ['of another service account', aToken({ sub: 'system:serviceaccount:default:other' }), {}],
    ['for another audience', aToken(), { audience: 'vault' }],
    ['not a token', 'nonsense', {}],
    ['a token without claims', `h.${Buffer.from('null').toString('base64url')}.s`, {}],
  ] as const) {
    row(`a token on disk is not used when it is ${kind}`, async () => {
      const { manager } = aManager();
      assert.equal(await manager.get(aRef({ ...ref, onDisk })), 'token-1');
    });
  }
});
