/** When what a driver reports of its storage changes the CSINode and the metric. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ApiCall, ApiClient } from '../../../../src/main/api/index.ts';
import { newCsiNode, type CsiNode } from '../../../../src/main/volumes/csi-node/csi-node.ts';
import { CsiNodeWriter } from '../../../../src/main/volumes/csi-node/csi-node-writer.ts';
import { withStorageHealth } from '../../../../src/main/volumes/csi-node/storage-health.ts';
import { StorageHealthMetrics } from '../../../../src/main/volumes/health/storage-health-metrics.ts';
import type { StorageHealthCondition } from '../../../../src/shared/contracts/volumes.ts';
import { csiNodeStorageHealthStatus } from '../../../../src/shared/metrics/definitions/volumes.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../../src/shared/metrics/index.ts';
import { table } from '../../../support/table.ts';

const now = '2026-11-29T05:00:00Z';
const before = '2026-11-29T04:00:00Z';
const slow: StorageHealthCondition = { status: 'StorageDegraded', reason: 'SlowPath', message: 'one of two paths' };
const slowBlock: StorageHealthCondition = { ...slow, accessMode: 'ReadWriteOnce', volumeMode: 'Block' };
const away: StorageHealthCondition = { status: 'StorageUnreachable', reason: 'NoRoute' };
const empty = newCsiNode('n', 'uid-1') as CsiNode;
const other = { name: 'other', healthConditions: [{ ...away, lastTransitionTime: before }] };
const of = (...conditions: StorageHealthCondition[]): CsiNode => ({
  ...empty,
  status: { storageHealth: [{ name: 'd', healthConditions: conditions.map((one) => ({ ...one, lastTransitionTime: before })) }, other] },
});
const healthOf = (csiNode: CsiNode) => csiNode.status?.storageHealth;

table('the storage health of a driver', (row) => {
  const unchanged: [name: string, csiNode: CsiNode, conditions: StorageHealthCondition[]][] = [
    ['none, without a status', empty, []],
    ['none, beside another driver', { ...empty, status: { storageHealth: [other] } }, []],
    ['the same', of(slow, slowBlock), [slow, slowBlock]],
    ['another message', of(slow), [{ ...slow, message: 'x' }]],
    ['another order', of(slow, away), [away, slow]],
    ['twice the same', of(slow), [slow, slow]],
  ];
  for (const [name, csiNode, conditions] of unchanged)
    row(`${name}: no change`, () => assert.equal(withStorageHealth(csiNode, 'd', conditions, now), csiNode));
  row('the first condition', () =>
    assert.deepEqual(healthOf(withStorageHealth(empty, 'd', [slow], now)), [
      { name: 'd', healthConditions: [{ ...slow, lastTransitionTime: now }] },
    ]),
  );
  row('a further condition leaves the time of the first one, and the other driver', () =>
    assert.deepEqual(healthOf(withStorageHealth(of(slow), 'd', [slow, away], now)), [
      other,
      {
        name: 'd',
        healthConditions: [
          { ...slow, lastTransitionTime: before },
          { ...away, lastTransitionTime: now },
        ],
      },
    ]),
  );
  row('another capability is a change', () =>
    assert.deepEqual(healthOf(withStorageHealth(of(slow), 'd', [slowBlock], now)), [
      other,
      { name: 'd', healthConditions: [{ ...slowBlock, lastTransitionTime: now }] },
    ]),
  );
  row('a healthy storage has no entry', () => assert.deepEqual(healthOf(withStorageHealth(of(slow), 'd', [], now)), [other]));
  row('the rest of the CSINode stays', () => {
    const { status: _, ...rest } = withStorageHealth(of(slow), 'd', [], now);
    assert.deepEqual(rest, empty);
  });
});

function aWriter(csiNode: CsiNode, nodeUID = 'uid-1') {
  const calls: string[] = [];
  const bodies: unknown[] = [];
  const client = {
    call: async ({ method, path, body }: ApiCall) => {
      calls.push(`${method} ${path}`);
      if (body !== undefined) bodies.push(body);
      return path.startsWith('/api/v1/nodes') ? { metadata: { uid: nodeUID } } : csiNode;
    },
  } as unknown as ApiClient;
  return { writer: new CsiNodeWriter({ client, nodeName: 'n' }), calls, bodies };
}
const path = '/apis/storage.k8s.io/v1/csinodes/n';

test('a change is written through the status, and nothing else is', async () => {
  const { writer, calls, bodies } = aWriter(of(slow));
  await writer.setStorageHealth('d', [{ ...slow, message: 'x' }], Date.parse(now));
  assert.deepEqual(calls, [`GET ${path}`]);
  await writer.setStorageHealth('d', [], Date.parse(now));
  assert.deepEqual(calls.slice(1), [`GET ${path}`, 'GET /api/v1/nodes/n', `PUT ${path}/status`]);
  assert.deepEqual(bodies, [{ ...empty, status: { storageHealth: [other] } }]);
});

test('the CSINode of an earlier Node is not changed', async () => {
  const { writer, bodies } = aWriter(of(slow), 'uid-2');
  await assert.rejects(writer.setStorageHealth('d', [], Date.parse(now)), /earlier Node/);
  assert.deepEqual(bodies, []);
});

test('the gauge has the current conditions of each driver, and a bounded number of reasons', () => {
  const segment = createMetricsSegment();
  bindMetrics(segment);
  const lines = () =>
    renderMetrics([segment], [csiNodeStorageHealthStatus])
      .split('\n')
      .filter((line) => line.startsWith('csi_node'))
      .toSorted();
  try {
    const metrics = new StorageHealthMetrics();
    assert.deepEqual(lines(), []);
    metrics.set('d', [slow, slowBlock, away]);
    metrics.set('e', [away]);
    metrics.set('d', [away]);
    const awayOf = (driver: string) =>
      `csi_node_storage_health_status{driver_name="${driver}",reason="NoRoute",status="StorageUnreachable"} 1`;
    assert.deepEqual(lines(), [awayOf('d'), awayOf('e')]);
    metrics.set('d', []);
    for (let count = 0; count < 1000; count += 1) metrics.set('d', [{ ...slow, reason: `Reason${count}` }]);
    assert.deepEqual(lines(), ['csi_node_storage_health_status{driver_name="d",reason="",status="StorageDegraded"} 1', awayOf('e')]);
    metrics.set('d', [slow]);
    assert.deepEqual(lines(), [
      'csi_node_storage_health_status{driver_name="d",reason="SlowPath",status="StorageDegraded"} 1',
      awayOf('e'),
    ]);
  } finally {
    bindMetrics(null);
  }
});
