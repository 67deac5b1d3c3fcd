/** When a driver is asked again how many volumes the node may have. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AllocatableUpdates } from '../../../../src/main/volumes/index.ts';
import { FakeApi } from '../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { silentLogger as logger } from '../../../support/logger.ts';

const path = '/apis/storage.k8s.io/v1/csidrivers';
const aDriver = (name: string, seconds: number | undefined, resourceVersion = '10') => ({
  apiVersion: 'storage.k8s.io/v1',
  kind: 'CSIDriver',
  metadata: { name, uid: `uid-${name}`, resourceVersion },
  spec: { ...(seconds !== undefined && { nodeAllocatableUpdatePeriodSeconds: seconds }) },
});
const initialEnd = {
  kind: 'CSIDriver',
  apiVersion: 'storage.k8s.io/v1',
  metadata: { resourceVersion: '20', annotations: { 'k8s.io/initial-events-end': 'true' } },
};

async function fixture(seconds: number | undefined) {
  const clock = new FakeClock();
  const api = new FakeApi();
  const written: number[] = [];
  let count = 0;
  const updates = new AllocatableUpdates({
    client: api,
    readInfo: async () => {
      count += 1;
      if (count === 2) return { outcome: 'failed', message: 'rpc error' };
      return { outcome: 'info', info: { nodeID: 'n1', maxVolumesPerNode: count, topology: {} } };
    },
    csiNode: { updateDriver: async (_, { maxVolumesPerNode }) => void written.push(maxVolumesPerNode) },
    clock,
    logger,
  });
  updates.add('d');
  const watch = await api.nextWatch(path);
  watch.push('ADDED', aDriver('d', seconds));
  watch.push('BOOKMARK', initialEnd);
  await settle();
  return { updates, clock, watch, written };
}

test('the limit is updated each period, also after a failure, until the driver leaves', async () => {
  const { updates, clock, written } = await fixture(60);
  for (let minutes = 0; minutes < 3; minutes += 1) await clock.advance(60_000);
  assert.deepEqual(written, [1, 3]);
  updates.remove('d');
  await clock.advance(120_000);
  assert.deepEqual(written, [1, 3]);
  await updates.close();
});

test('a changed period counts at once, and none ends the updates', async () => {
  const { updates, clock, watch, written } = await fixture(3600);
  watch.push('MODIFIED', aDriver('d', 10, '21'));
  await settle();
  await clock.advance(10_000);
  assert.deepEqual(written, [1]);
  watch.push('MODIFIED', aDriver('d', undefined, '22'));
  await settle();
  await clock.advance(3_600_000);
  assert.deepEqual(written, [1]);
  await updates.close();
});

test('an exhausted node is updated at once, if the limit may change', async () => {
  const limited = await fixture(3600);
  assert.equal(await limited.updates.updateExhausted('d'), true);
  assert.deepEqual(limited.written, [1]);
  assert.equal(await limited.updates.updateExhausted('another'), false);
  await limited.updates.close();
  const fixed = await fixture(undefined);
  assert.equal(await fixed.updates.updateExhausted('d'), false);
  assert.deepEqual(fixed.written, []);
  await fixed.updates.close();
});
