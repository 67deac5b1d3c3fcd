import assert from 'node:assert/strict';
import { test } from 'node:test';
import { NodeLease, type Lease } from '../../../../src/main/node/node-lease.ts';
import { apiError, FakeApi } from '../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { silentLogger } from '../../../support/logger.ts';

const leases = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases';
const path = `${leases}/n1`;
const notFound = apiError(404, 'NotFound');
const lease = (resourceVersion: string, more: object = {}) => ({
  metadata: {
    name: 'n1',
    namespace: 'kube-node-lease',
    resourceVersion,
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' }],
  },
  spec: { holderIdentity: 'n1', leaseDurationSeconds: 40, ...more },
});

function aLease(nodeUID: string | null = 'u1') {
  const [clock, api, stop] = [new FakeClock(), new FakeApi(), new AbortController()];
  const state = { nodeUID, failures: 0 };
  const nodeLease = new NodeLease({
    client: api,
    nodeName: 'n1',
    durationSeconds: 40,
    nodeUID: () => state.nodeUID,
    onRepeatedHeartbeatFailure: () => (state.failures += 1),
    deadlineMs: 10_000,
    clock,
    random: () => 0,
    logger: silentLogger,
  });
  const start = async () => {
    void nodeLease.run(stop.signal);
    await settle();
  };
  return {
    clock,
    api,
    stop,
    state,
    nodeLease,
    start,
    bodies: (method: 'PUT' | 'POST') => api.callsTo(method, method === 'PUT' ? path : leases).map(({ body }) => body as Lease),
  };
}

test('a missing lease is created with an owner, and renewed at each quarter of its duration without a GET', async () => {
  const { clock, api, start, bodies } = aLease();
  api.on('GET', path, notFound).on('POST', leases, lease('1')).on('PUT', path, lease('2'));
  await start();
  assert.deepEqual(bodies('POST'), [
    {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'n1', namespace: 'kube-node-lease', ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' }] },
      spec: { holderIdentity: 'n1', leaseDurationSeconds: 40, renewTime: '2026-01-01T00:00:00.000000Z' },
    },
  ]);
  await clock.advance(20_500);
  assert.deepEqual(
    bodies('PUT').map(({ metadata, spec }) => [metadata?.resourceVersion, String(spec?.renewTime)]),
    [
      ['1', '2026-01-01T00:00:10.000000Z'],
      ['2', '2026-01-01T00:00:20.000000Z'],
    ],
  );
  assert.equal(api.callsTo('GET', path).length, 1);
});

test('an existing lease is renewed at once, and its unknown fields are kept', async () => {
  const { api, start, bodies } = aLease();
  api.on('GET', path, lease('5', { leaseDurationSeconds: 10, strategy: 'x' })).on('PUT', path, lease('6'));
  await start();
  assert.deepEqual(bodies('PUT')[0]?.spec, {
    holderIdentity: 'n1',
    leaseDurationSeconds: 40,
    strategy: 'x',
    renewTime: '2026-01-01T00:00:00.000000Z',
  });
});

test('a conflict is resolved with the current version', async () => {
  const { api, start, bodies, state } = aLease();
  api.once('GET', path, lease('1')).on('GET', path, lease('8'));
  api.once('PUT', path, apiError(409, 'Conflict')).on('PUT', path, lease('9'));
  await start();
  assert.deepEqual(
    bodies('PUT').map(({ metadata }) => metadata?.resourceVersion),
    ['1', '8'],
  );
  assert.equal(state.failures, 0);
});

test('a deleted lease is recreated at the next renewal', async () => {
  const { clock, api, start, bodies } = aLease();
  api.once('GET', path, lease('1')).on('GET', path, notFound).on('POST', leases, lease('3'));
  api.once('PUT', path, lease('2')).on('PUT', path, notFound);
  await start();
  await clock.advance(10_500);
  assert.equal(bodies('POST').length, 1);
});

test('a lease is not created before the Node is known, and then at once', async () => {
  const { api, start, bodies, nodeLease, state, clock } = aLease(null);
  api.on('GET', path, notFound).on('POST', leases, lease('1'));
  await start();
  assert.equal(bodies('POST').length, 0);
  state.nodeUID = 'u1';
  nodeLease.wake();
  await clock.advance(10);
  assert.equal(bodies('POST').length, 1);
});

test('a failing update is attempted five times with growing delays, and reported from the second failure on', async () => {
  const { clock, api, start, state } = aLease();
  api.on('GET', path, lease('1')).on('PUT', path, apiError(500, 'InternalError'));
  await start();
  await clock.advance(200 + 400 + 800 + 1600 + 3200);
  assert.equal(api.callsTo('PUT', path).length, 5);
  assert.equal(state.failures, 4);
});

test('an unavailable server is asked for the lease until it responds', async () => {
  const { clock, api, start } = aLease();
  api.on('GET', path, apiError(0, 'Unreachable')).on('PUT', path, lease('2'));
  await start();
  await clock.advance(60_000);
  const tries = api.callsTo('GET', path).length;
  assert.ok(tries >= 10 && tries <= 15, String(tries));
  api.on('GET', path, lease('1'));
  await clock.advance(7000);
  assert.equal(api.callsTo('PUT', path).length, 1);
});
