/** Stages, publishes and ends volumes on the test driver, which really mounts, with faults and restarts between the calls. Needs root. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, test } from 'node:test';
import type { VolumesNotification } from '../../../src/shared/contracts/volumes.ts';
import { stagingPath, targetPath, volumeDataPath } from '../../../src/workers/volumes/csi/csi-paths.ts';
import { driverName, VolumesFixture } from '../../support/csi-driver/volumes-fixture.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

let fixture: VolumesFixture;
beforeEach(async () => {
  fixture = new VolumesFixture();
  await fixture.driver.start();
});
afterEach(() => fixture.close());

const stage = 'NodeStageVolume v1';
const publish = 'NodePublishVolume v1';
const unpublish = 'NodeUnpublishVolume v1';
const unstage = 'NodeUnstageVolume v1';
const done = { outcome: 'done' } as const;
const record = (path: string) => JSON.parse(readFileSync(volumeDataPath(path), 'utf8')) as Record<string, string>;
const untilCalls = (calls: readonly string[]) =>
  waitUntil(`the driver has the calls ${calls.join(', ')}`, () => fixture.driver.volumeCalls().join() === calls.join());

test('two pods share one stage; the volume is unstaged after the last of them, and its files stay', async () => {
  const { operations, table } = await fixture.startRun();
  assert.deepEqual(await Promise.all([operations.publish(fixture.request('a')), operations.publish(fixture.request('b'))]), [done, done]);
  assert.deepEqual(fixture.driver.volumeCalls(), [stage, publish, publish]);
  const [a, b] = ['a', 'b'].map((uid) => targetPath(fixture.rootDir, uid, 'pv1')) as [string, string];
  writeFileSync(join(a, 'f'), 'kept');
  assert.equal(readFileSync(join(b, 'f'), 'utf8'), 'kept');
  assert.deepEqual(record(a), {
    specVolID: 'pv1',
    volumeHandle: 'v1',
    driverName,
    nodeName: 'n1',
    volumeLifecycleMode: 'Persistent',
    attachmentID: 'csi-d02346c85a20f6bab3ea7c160060ebfe8e6c1dfba50bde31a5539c5b61fd4e44',
    completedOnBoot: 'boot-1',
  });
  assert.deepEqual(await operations.unpublish({ podUID: 'a', specName: 'pv1' }), done);
  assert.deepEqual(await operations.unpublish({ podUID: 'b', specName: 'pv1' }), done);
  await untilCalls([stage, publish, publish, unpublish, unpublish, unstage]);
  await waitUntil('the table is empty', () => table.size === 0);
  assert.deepEqual(fixture.mounts(), []);
  assert.deepEqual(readdirSync(join(fixture.rootDir, 'plugins/kubernetes.io/csi', driverName)), []);
  assert.equal(existsSync(join(a, '..')), false);
  assert.deepEqual(await operations.publish(fixture.request('c')), done);
  assert.equal(readFileSync(join(targetPath(fixture.rootDir, 'c', 'pv1'), 'f'), 'utf8'), 'kept');
});

test('a restart calls nothing for what is recorded, also without the driver; another boot repeats both calls', async () => {
  await (await fixture.startRun()).operations.publish(fixture.request('a'));
  const mounted = fixture.mounts();
  const again = await fixture.startRun({ hasDriver: false });
  assert.deepEqual(await again.operations.publish(fixture.request('a')), done);
  assert.deepEqual(fixture.driver.volumeCalls(), [stage, publish]);
  const otherBoot = await fixture.startRun({ bootID: 'boot-2' });
  otherBoot.operations.unstageUnused(driverName);
  assert.deepEqual(await otherBoot.operations.publish(fixture.request('a')), done);
  assert.deepEqual(fixture.driver.volumeCalls(), [stage, publish, stage, publish]);
  assert.deepEqual(fixture.mounts(), mounted);
});

test("the files of Go's kubelet, without this kubelet's key, lead to one repetition and to the end of the volume", async () => {
  await (await fixture.startRun()).operations.publish(fixture.request('a'));
  for (const path of [targetPath(fixture.rootDir, 'a', 'pv1'), stagingPath(fixture.rootDir, driverName, 'v1')]) {
    const { completedOnBoot: _, ...keys } = record(path);
    writeFileSync(volumeDataPath(path), JSON.stringify(keys));
  }
  const { operations } = await fixture.startRun();
  operations.unstageUnused(driverName);
  assert.deepEqual(await operations.publish(fixture.request('a')), done);
  assert.deepEqual(await operations.unpublish({ podUID: 'a', specName: 'pv1' }), done);
  await untilCalls([stage, publish, stage, publish, unpublish, unstage]);
});

test('a volume whose unstage has failed is staged again before the next publication', async () => {
  const { operations } = await fixture.startRun();
  await operations.publish(fixture.request('a'));
  writeFileSync(join(targetPath(fixture.rootDir, 'a', 'pv1'), 'f'), 'kept');
  fixture.driver.setFaults({ NodeUnstageVolume: { code: 'DEADLINE_EXCEEDED', effect: 'done', times: 1, delayMs: 200 } });
  await operations.unpublish({ podUID: 'a', specName: 'pv1' });
  await waitUntil('the unstage has begun', () => !('completedOnBoot' in record(stagingPath(fixture.rootDir, driverName, 'v1'))));
  assert.deepEqual(await operations.publish(fixture.request('b')), done);
  const calls = fixture.driver.volumeCalls();
  assert.deepEqual(calls.slice(-3), [`${unstage} 4`, stage, publish]);
  assert.equal(readFileSync(join(targetPath(fixture.rootDir, 'b', 'pv1'), 'f'), 'utf8'), 'kept');
  const times = fixture.driver.journal().filter(({ volumeID }) => volumeID === 'v1');
  for (const [index, { startMs }] of times.entries()) assert.ok(index === 0 || startMs >= times[index - 1]!.endMs, 'two calls overlap');
});

test('a kubelet that dies between unpublish and unstage unstages after its restart', async () => {
  const { operations } = await fixture.startRun();
  await operations.publish(fixture.request('a'));
  fixture.driver.setFaults({ NodeUnstageVolume: { code: 'INTERNAL' } });
  await operations.unpublish({ podUID: 'a', specName: 'pv1' });
  await waitUntil('the unstage has failed', () => fixture.driver.volumeCalls().includes(`${unstage} 13`));
  fixture.driver.setFaults({});
  const next = await fixture.startRun();
  next.operations.unstageUnused(driverName);
  await waitUntil('the volume is unstaged', () => fixture.driver.volumeCalls().at(-1) === unstage);
  assert.deepEqual(fixture.mounts(), []);
});

test('a failure names the volume, the operation and the reason, is cut, and leaves nothing behind when the driver says that it is final', async () => {
  const { operations, table } = await fixture.startRun();
  fixture.driver.setFaults({ NodeStageVolume: { code: 'INVALID_ARGUMENT', message: 'x'.repeat(5000), times: 1 } });
  const first = await operations.publish(fixture.request('a'));
  assert.equal(first.outcome, 'failed');
  assert.match(
    first.outcome === 'failed' ? first.message : '',
    /^MountVolume\.MountDevice failed for volume "pv1" : rpc error: code = InvalidArgument desc = x{500}/,
  );
  assert.ok(first.outcome === 'failed' && first.message.length < 1500);
  assert.equal(table.size, 0);
  assert.deepEqual(readdirSync(join(fixture.rootDir, 'plugins/kubernetes.io/csi', driverName)), []);
  fixture.driver.setFaults({ NodePublishVolume: { code: 'UNAVAILABLE', effect: 'done', times: 1 } });
  const second = await operations.publish(fixture.request('a'));
  assert.match(
    second.outcome === 'failed' ? second.message : '',
    /^MountVolume\.SetUp failed for volume "pv1" : rpc error: code = Unavailable/,
  );
  // The publication may have succeeded: it is ended with the pod.
  assert.deepEqual(await operations.unpublish({ podUID: 'a', specName: 'pv1' }), done);
  await waitUntil('nothing is mounted', () => fixture.mounts().length === 0);
});

test('without the driver a pod fails with its name, and ends once the driver is back', async () => {
  const { operations } = await fixture.startRun();
  await operations.publish(fixture.request('a'));
  const { operations: next, drivers } = await fixture.startRun({ hasDriver: false });
  const missing = `kubernetes.io/csi: driver name ${driverName} not found in the list of registered CSI drivers`;
  assert.deepEqual(await next.unpublish({ podUID: 'a', specName: 'pv1' }), {
    outcome: 'failed',
    message: `UnmountVolume.TearDown failed for volume "pv1" : ${missing}`,
  });
  assert.equal(fixture.mounts().length, 2);
  const { CsiDriver } = await import('../../../src/workers/volumes/csi/csi-driver.ts');
  drivers.set(driverName, new CsiDriver(driverName, fixture.driver.options.socket));
  assert.deepEqual(await next.unpublish({ podUID: 'a', specName: 'pv1' }), done);
  await waitUntil('nothing is mounted', () => fixture.mounts().length === 0);
});

test('a mounted volume whose record is lost is neither unpublished nor unstaged; one that is not mounted is removed', async () => {
  await (await fixture.startRun()).operations.publish(fixture.request('a'));
  const target = targetPath(fixture.rootDir, 'a', 'pv1');
  writeFileSync(volumeDataPath(target), '');
  const { operations, table } = await fixture.startRun();
  assert.equal(table.hasLostRecords, true);
  operations.unstageUnused(driverName);
  const reply = await operations.unpublish({ podUID: 'a', specName: 'pv1' });
  assert.match(reply.outcome === 'failed' ? reply.message : '', /is mounted, and vol_data\.json beside it does not say which volume it is/);
  assert.deepEqual(fixture.driver.volumeCalls(), [stage, publish]);
});

test("the pod's fsGroup owns the files before the publication is recorded", async () => {
  const { operations } = await fixture.startRun();
  await operations.publish(fixture.request('a'));
  writeFileSync(join(targetPath(fixture.rootDir, 'a', 'pv1'), 'f'), 'x');
  const fsGroup = { fsGroup: 2000, onlyOnRootMismatch: false, appliesToFiles: true };
  assert.deepEqual(await operations.publish(fixture.request('b', { fsGroup })), done);
  assert.equal(statSync(join(targetPath(fixture.rootDir, 'b', 'pv1'), 'f')).gid, 2000);
});

test('an inline volume has no stage, gets secrets and the pod, shows no secret in an error, and is gone when the driver does not know it', async () => {
  const { operations, table } = await fixture.startRun();
  const inline = fixture.request('a', {
    lifecycle: 'Ephemeral',
    specName: 'scratch',
    volumeAttributes: { size: '1' },
    podAttributes: { 'csi.storage.k8s.io/pod.name': 'web' },
    publishSecrets: { password: 'canary-geheim' },
  });
  fixture.driver.setFaults({ NodePublishVolume: { code: 'UNAUTHENTICATED', message: 'bad password canary-geheim', times: 1 } });
  assert.deepEqual(await operations.publish(inline), {
    outcome: 'failed',
    message: 'MountVolume.SetUp failed for volume "scratch" : rpc error: code = Unauthenticated desc = bad password [secret]',
  });
  assert.deepEqual(await operations.publish(inline), done);
  const request = fixture.driver.journal().at(-1)?.request as { secrets: unknown; volumeContext: unknown; stagingTargetPath: string };
  assert.deepEqual(request.secrets, { password: 'canary-geheim' });
  assert.deepEqual(request.volumeContext, { size: '1', 'csi.storage.k8s.io/pod.name': 'web' });
  assert.equal(request.stagingTargetPath, '');
  assert.doesNotMatch(readFileSync(volumeDataPath(targetPath(fixture.rootDir, 'a', 'scratch')), 'utf8'), /canary/);
  fixture.driver.setFaults({ NodeUnpublishVolume: { code: 'DEADLINE_EXCEEDED', effect: 'done', times: 1 } });
  assert.equal((await operations.unpublish({ podUID: 'a', specName: 'scratch' })).outcome, 'failed');
  fixture.driver.setFaults({ NodeUnpublishVolume: { code: 'NOT_FOUND' } });
  assert.deepEqual(await operations.unpublish({ podUID: 'a', specName: 'scratch' }), done);
  assert.equal(table.size, 0);
  assert.deepEqual(fixture.mounts(), []);
});

test('a pod that ends while its volume is being staged gets no publication, and neither does one that waits', async () => {
  const { operations, table } = await fixture.startRun();
  fixture.driver.setFaults({ NodeStageVolume: { delayMs: 500, times: 1 } });
  const starting = operations.publish(fixture.request('a'));
  const waiting = operations.publish(fixture.request('b'));
  const ended = Promise.all(['a', 'b'].map((podUID) => operations.unpublish({ podUID, specName: 'pv1' })));
  const message = 'MountVolume.SetUp failed for volume "pv1" : the pod ends';
  assert.deepEqual(await Promise.all([starting, waiting]), [
    { outcome: 'failed', message },
    { outcome: 'failed', message },
  ]);
  assert.deepEqual(await ended, [done, done]);
  await waitUntil('the table is empty', () => table.size === 0);
  assert.deepEqual(fixture.mounts(), []);
  assert.ok(!fixture.driver.volumeCalls().includes(publish));
});

test('a volume that was attached gives its context to both calls, and is on the node until its unstage has succeeded, also after a restart', async () => {
  const { operations, table } = await fixture.startRun();
  const seen: VolumesNotification[] = [];
  table.report((notification) => seen.push(notification));
  const publishContext = { device: 'sdb' };
  assert.deepEqual(await operations.publish(fixture.request('a', { needsAttachment: true, publishContext })), done);
  const requests = fixture.driver.journal().filter(({ volumeID }) => volumeID === 'v1');
  assert.deepEqual(
    requests.map(({ request }) => (request as { publishContext: unknown }).publishContext),
    [publishContext, publishContext],
  );
  fixture.driver.setFaults({ NodeUnstageVolume: { code: 'INTERNAL' } });
  await operations.unpublish({ podUID: 'a', specName: 'pv1' });
  await waitUntil('the unstage has failed', () => fixture.driver.volumeCalls().includes(`${unstage} 13`));
  const volume = { driver: driverName, volumeHandle: 'v1', needsAttachment: true };
  assert.deepEqual(seen, [
    { type: 'recovered', volumes: [], areRecordsLost: false },
    { type: 'added', volume },
    { type: 'unused', volume },
  ]);
  fixture.driver.setFaults({});
  const next = await fixture.startRun();
  const afterwards: VolumesNotification[] = [];
  next.table.report((notification) => afterwards.push(notification));
  next.operations.unstageUnused(driverName);
  await waitUntil('the volume has left', () => afterwards.length === 3);
  assert.deepEqual(afterwards, [
    { type: 'recovered', volumes: [volume], areRecordsLost: false },
    { type: 'unused', volume },
    { type: 'removed', volume },
  ]);
  assert.equal(fixture.driver.volumeCalls().at(-1), unstage);
});

test('a volume that is published again keeps its record and its mount when the driver fails; one that has ended is not published', async () => {
  const { operations } = await fixture.startRun();
  await operations.publish(fixture.request('a'));
  const path = targetPath(fixture.rootDir, 'a', 'pv1');
  const [before, mounted] = [record(path), fixture.mounts()];
  const again = fixture.request('a', { isRepublish: true, hiddenTexts: ['geheim'] });
  assert.deepEqual(await operations.publish(again), done);
  fixture.driver.setFaults({ NodePublishVolume: { code: 'INTERNAL', message: 'bad token geheim' } });
  assert.deepEqual(await operations.publish(again), {
    outcome: 'failed',
    message: 'MountVolume.SetUp failed for volume "pv1" : rpc error: code = Internal desc = bad token [secret]',
  });
  assert.deepEqual([record(path), fixture.mounts()], [before, mounted]);
  await operations.unpublish({ podUID: 'a', specName: 'pv1' });
  assert.deepEqual(await operations.publish(again), done);
  await untilCalls([stage, publish, publish, `${publish} 13`, unpublish, unstage]);
});
