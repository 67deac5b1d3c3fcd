/** What the volumes thread asks the test driver about health, and what it makes of the answers. Needs root. */
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { CsiDriver } from '../../../src/workers/volumes/csi/csi-driver.ts';
import { CsiHealth } from '../../../src/workers/volumes/csi/csi-health.ts';
import { stagingPath, targetPath } from '../../../src/workers/volumes/csi/csi-paths.ts';
import { driverName, VolumesFixture } from '../../support/csi-driver/volumes-fixture.ts';

const capabilities = ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_HEALTH', 'GET_STORAGE_HEALTH'];
const call = 'NodeGetVolumeHealth';
const ofPod = (podUID: string) => ({ podUID, specName: 'pv1', driver: driverName, volumeHandle: 'v1' });
const healthy = { outcome: 'reported', conditions: [] };

let fixture: VolumesFixture;
let health: CsiHealth;
let drivers: Map<string, CsiDriver>;
async function start(options: { readonly capabilities?: readonly string[] } = { capabilities }) {
  fixture = new VolumesFixture(options);
  await fixture.driver.start();
  const run = await fixture.startRun();
  ({ drivers } = run);
  health = new CsiHealth({ rootDir: fixture.rootDir, drivers, table: run.table });
  return run.operations;
}
const paths = () =>
  fixture.driver
    .journal()
    .filter(({ method }) => method === call)
    .map(({ request }) => request as { readonly stagingTargetPath: string; readonly volumePublishPath: string })
    .map(({ stagingTargetPath, volumePublishPath }) => [stagingTargetPath, volumePublishPath]);

afterEach(() => fixture.close());

test('a volume is asked about with the paths at which it is, and without those at which it is not', async () => {
  const operations = await start();
  assert.deepEqual(await health.ofVolume(ofPod('a')), healthy);
  await operations.publish(fixture.request('a'));
  assert.deepEqual(await health.ofVolume(ofPod('a')), healthy);
  fixture.driver.setFaults({ NodePublishVolume: { code: 'INVALID_ARGUMENT' } });
  await operations.publish(fixture.request('b'));
  assert.deepEqual(await health.ofVolume(ofPod('b')), healthy);
  const staging = stagingPath(fixture.rootDir, driverName, 'v1');
  assert.deepEqual(paths(), [
    ['', ''],
    [staging, targetPath(fixture.rootDir, 'a', 'pv1')],
    [staging, ''],
  ]);
});

test('conditions of volumes and of the storage arrive with their texts', async () => {
  await start();
  fixture.driver.setHealth({
    volumes: { v1: [{ status: 'DATA_LOSS', reason: 'BadBlocks', message: 'three of them' }] },
    storage: [{ status: 'STORAGE_UNREACHABLE', reason: 'NoRoute' }],
  });
  assert.deepEqual(await health.ofVolume(ofPod('a')), {
    outcome: 'reported',
    conditions: [{ status: 'DataLoss', reason: 'BadBlocks', message: 'three of them' }],
  });
  assert.deepEqual(await health.ofStorage(driverName), {
    outcome: 'reported',
    conditions: [{ status: 'StorageUnreachable', reason: 'NoRoute' }],
  });
});

test('a driver without the capabilities, and one that is not registered, get no call', async () => {
  await start({ capabilities: ['STAGE_UNSTAGE_VOLUME'] });
  const unsupported = { outcome: 'unsupported' };
  assert.deepEqual(await health.ofVolume(ofPod('a')), unsupported);
  assert.deepEqual(await health.ofStorage(driverName), unsupported);
  drivers.clear();
  assert.deepEqual(await health.ofVolume(ofPod('a')), unsupported);
  assert.deepEqual(await health.ofStorage(driverName), unsupported);
  assert.deepEqual(
    fixture.driver.journal().map(({ method }) => method),
    ['NodeGetCapabilities'],
  );
});

test("a failed call is named by its code, without the driver's text", async () => {
  await start();
  fixture.driver.setFaults({ [call]: { code: 'INTERNAL', message: 'the password is hunter2' } });
  assert.deepEqual(await health.ofVolume(ofPod('a')), { outcome: 'failed', message: 'Internal' });
});

test('a driver has one call open at a time, and other drivers do not wait for it', async () => {
  await start();
  drivers.set('other', new CsiDriver('other', fixture.driver.options.socket));
  fixture.driver.setFaults({ [call]: { delayMs: 500 } });
  const slow = Promise.all([health.ofVolume(ofPod('a')), health.ofVolume(ofPod('b'))]);
  assert.deepEqual(await health.ofStorage('other'), healthy);
  await slow;
  const [first, second] = fixture.driver.journal().filter(({ method }) => method === call);
  const other = fixture.driver.journal().find(({ method }) => method === 'NodeGetStorageHealth');
  assert.ok(second!.startMs >= first!.endMs);
  assert.ok(other!.endMs < first!.endMs);
});
