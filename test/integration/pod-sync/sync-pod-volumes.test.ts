import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aContainer, aPod } from '../../support/pods/pod-sync-samples.ts';
import { PodSyncHarness } from '../../support/pods/pod-sync-harness.ts';

test('a sandbox is created while volumes are mounted, and containers wait for both', async () => {
  using harness = new PodSyncHarness();
  harness.failures.set('mount volumes', new Error('no luck'));
  const { result } = await harness.syncToEnd(aPod(), { dependenciesReady: true });
  assert.deepEqual(harness.runtime.calls, ['runPodSandbox 0']);
  assert.equal(result.outcome === 'failed' && result.failure.reason, 'FailedMount');
  harness.failures.clear();
  await harness.syncToEnd(aPod(), { dependenciesReady: true });
  assert.deepEqual(harness.runtime.calls.slice(1), ['createContainer app 0', 'startContainer app']);
});

test('a volume that cannot be mounted is retried with a back-off, and the event has the reason', async () => {
  using harness = new PodSyncHarness();
  harness.failures.set('mount volumes', new Error('MountVolume.SetUp failed for volume "data" : secret "s" not found'));
  const delays: number[] = [];
  for (let times = 0; times < 3; times += 1) {
    const { channel, result } = await harness.syncToEnd(aPod());
    assert.deepEqual(channel.events, ['FailedMount pod: MountVolume.SetUp failed for volume "data" : secret "s" not found']);
    assert.ok(result.outcome === 'failed');
    assert.deepEqual(result.failure, {
      reason: 'FailedMount',
      message:
        'unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: ' +
        'MountVolume.SetUp failed for volume "data" : secret "s" not found',
    });
    delays.push(Math.round((result.retryAtMs! - harness.clock.now()) / 100));
    await harness.clock.advance(1000);
  }
  assert.ok(delays[0]! >= 5 && delays[0]! <= 6 && delays[1]! >= 10 && delays[1]! <= 11 && delays[2]! >= 20, String(delays));
  harness.failures.clear();
  await harness.syncToEnd(aPod());
  harness.failures.set('mount volumes', new Error('again'));
  const { result } = await harness.syncToEnd(aPod());
  assert.ok(result.retryAtMs! - harness.clock.now() <= 550);
});

test('after two minutes an event names the volumes that a pod waits for', async () => {
  using harness = new PodSyncHarness();
  const failure = 'MountVolume.SetUp failed for volume "data" : secret "s" not found';
  harness.failures.set('mount volumes', new Error(failure));
  const startedAtMs = harness.clock.now();
  for (let times = 0; times < 20; times += 1) {
    const { channel, result } = await harness.syncToEnd(aPod());
    if (channel.events.length > 1) {
      const why = 'unmounted volumes=[data], unattached volumes=[], failed to process volumes=[]: context deadline exceeded';
      assert.deepEqual(channel.events, [`FailedMount pod: ${failure}`, `FailedMount pod: Unable to attach or mount volumes: ${why}`]);
      break;
    }
    await harness.clock.advance(result.retryAtMs! - harness.clock.now());
  }
  const waitedSeconds = (harness.clock.now() - startedAtMs) / 1000;
  assert.ok(waitedSeconds > 120 && waitedSeconds < 150, String(waitedSeconds));
});

test('a volume that is not attached has no event before two minutes, and is named then', async () => {
  using harness = new PodSyncHarness();
  harness.volumeFailure = { volume: 'data', message: 'Volume not attached', state: 'waiting', isUnattached: true };
  const startedAtMs = harness.clock.now();
  for (let events: readonly string[] = []; events.length === 0;) {
    const { channel, result } = await harness.syncToEnd(aPod());
    events = channel.events;
    const why = 'unmounted volumes=[data], unattached volumes=[data], failed to process volumes=[]: context deadline exceeded';
    if (events.length > 0) assert.deepEqual(events, [`FailedMount pod: Unable to attach or mount volumes: ${why}`]);
    else await harness.clock.advance(result.retryAtMs! - harness.clock.now());
  }
  assert.ok(harness.clock.now() - startedAtMs > 120_000);
});

test('the event of a volume that can’t be attached has the reason of attachments', async () => {
  using harness = new PodSyncHarness();
  harness.volumeFailure = { volume: 'data', message: 'AttachVolume.Attach failed', state: 'missing', reason: 'FailedAttachVolume' };
  const { channel } = await harness.syncToEnd(aPod());
  assert.deepEqual(channel.events, ['FailedAttachVolume pod: AttachVolume.Attach failed']);
});

test('an outdated volume does not block the pod, and is retried', async () => {
  using harness = new PodSyncHarness();
  harness.outdatedVolumeMessage = 'MountVolume.SetUp failed for volume "data" : secret "s" not found';
  const { channel, result } = await harness.syncToEnd(aPod());
  assert.equal(result.outcome, 'synced');
  assert.equal(channel.events[0], `FailedMount pod: ${harness.outdatedVolumeMessage}`);
  assert.ok(harness.runtime.calls.includes('startContainer app'));
  assert.ok(result.retryAtMs! - harness.clock.now() <= 550);
});

test('main is notified of the mounted volumes once, and again when one is missing', async () => {
  using harness = new PodSyncHarness();
  const pod = aPod({
    containers: [
      aContainer('app', {
        volumeMounts: [
          { name: 'data', mountPath: '/data' },
          { name: 'more', mountPath: '/more' },
        ],
      }),
    ],
    volumes: [{ name: 'unused' }, { name: 'data' }, { name: 'more' }],
  });
  const notifiedVolumes = async () => {
    const { channel } = await harness.syncToEnd(pod);
    return channel.requests.flatMap((request) => (request.type === 'volumesMounted' ? [request.volumes] : []));
  };
  harness.volumesMounted = false;
  assert.deepEqual(await notifiedVolumes(), [['data', 'more']]);
  harness.volumesMounted = true;
  assert.deepEqual(await notifiedVolumes(), []);
  harness.outdatedVolumeMessage = 'MountVolume.SetUp failed for volume "data" : no answer';
  assert.deepEqual(await notifiedVolumes(), []);
  harness.outdatedVolumeMessage = null;
  harness.failures.set('mount volumes', new Error('MountVolume.SetUp failed for volume "data" : secret "s" not found'));
  assert.deepEqual(await notifiedVolumes(), [['more']]);
});
