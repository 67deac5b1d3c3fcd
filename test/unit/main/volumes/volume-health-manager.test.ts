/** When drivers are asked about health, and what their answers change. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiError } from '../../../../src/main/api/index.ts';
import { nameInStatus, type ClaimedCsiVolume } from '../../../../src/main/volumes/health/claimed-csi-volume.ts';
import { VolumeHealthManager } from '../../../../src/main/volumes/index.ts';
import type { StorageHealthReply, VolumeHealthReply } from '../../../../src/shared/contracts/volumes.ts';
import type { Volume } from '../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { aLogger } from '../../../support/logger.ts';
import { aPod } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';

const periodMs = 60_000;
const healthy = { outcome: 'reported', conditions: [] } as const;
const slow = { status: 'Degraded', reason: 'SlowPath', message: 'secret' } as const;
const slowStorage = { status: 'StorageDegraded', reason: 'SlowPath', message: 'secret' } as const;
const aVolume = (uid: string, driver = 'd'): ClaimedCsiVolume => ({
  uid: uid as PodUID,
  volumeName: 'data',
  request: { podUID: uid, specName: `pv-${uid}`, driver, volumeHandle: `v-${uid}` },
});

interface Answers {
  volume?: (podUID: string) => Promise<VolumeHealthReply>;
  storage?: () => Promise<StorageHealthReply>;
  write?: () => Promise<void>;
}

function aManager({ volume = async () => healthy, storage = async () => healthy, write = async () => {} }: Answers = {}) {
  const clock = new FakeClock();
  const { logger, lines } = aLogger();
  const calls: string[] = [];
  const reported: string[] = [];
  const volumes: ClaimedCsiVolume[] = [];
  const manager = new VolumeHealthManager({
    thread: {
      volumeHealth: ({ podUID, volumeHandle }) => {
        calls.push(volumeHandle);
        return volume(podUID);
      },
      storageHealth: (driver) => {
        calls.push(driver);
        return storage();
      },
    },
    volumes: () => volumes,
    setPodHealth: (uid, name, conditions) => {
      if (uid === 'broken') throw new Error('a fault');
      reported.push(`${uid} ${name} ${conditions.map(({ reason }) => reason).join()}`);
    },
    csiNode: {
      setStorageHealth: async (driver, conditions) => {
        reported.push(`${driver} ${conditions.map(({ reason }) => reason).join()}`);
        await write();
      },
    },
    periodMs,
    clock,
    logger,
  });
  manager.start();
  return { manager, clock, calls, reported, volumes, lines };
}

test('each period, registered drivers are asked about their storage and their volumes, and others about their volumes', async () => {
  const { manager, clock, calls, reported, volumes } = aManager();
  manager.add('d');
  volumes.push(aVolume('a'), aVolume('b'), aVolume('c', 'gone'));
  await clock.advance(periodMs - 1);
  assert.deepEqual(calls, []);
  await clock.advance(1);
  assert.deepEqual(calls, ['d', 'v-c', 'v-a', 'v-b']);
  assert.deepEqual(new Set(reported), new Set(['a data ', 'b data ', 'c data ', 'd ']));
  calls.splice(0);
  volumes.splice(0);
  await clock.advance(periodMs);
  assert.deepEqual(calls, ['d']);
});

test('the conditions are reported, and a failure leaves those before', async () => {
  const volumeReplies: VolumeHealthReply[] = [
    { outcome: 'reported', conditions: [slow] },
    { outcome: 'failed', message: 'Internal' },
    { outcome: 'unsupported' },
    healthy,
  ];
  const storageReplies: StorageHealthReply[] = [
    { outcome: 'reported', conditions: [slowStorage] },
    { outcome: 'unsupported' },
    { outcome: 'failed', message: 'Internal' },
    healthy,
  ];
  const { manager, clock, reported, volumes } = aManager({
    volume: async () => volumeReplies.shift()!,
    storage: async () => storageReplies.shift()!,
  });
  manager.add('d');
  volumes.push(aVolume('a'));
  for (let period = 0; period < 4; period += 1) await clock.advance(periodMs);
  assert.deepEqual(reported, ['d SlowPath', 'a data SlowPath', 'd ', 'a data ']);
});

test('a driver that does not answer has one call open, and others are asked', async () => {
  const silent = Promise.withResolvers<VolumeHealthReply>();
  const { clock, calls, volumes } = aManager({ volume: (podUID) => (podUID === 'a' ? silent.promise : Promise.resolve(healthy)) });
  volumes.push(aVolume('a'), aVolume('b'), aVolume('c', 'e'));
  await clock.advance(periodMs);
  await clock.advance(periodMs);
  assert.deepEqual(calls, ['v-a', 'v-c', 'v-c']);
  silent.resolve({ outcome: 'failed', message: 'DeadlineExceeded' });
  await settle();
  assert.deepEqual(calls.slice(3), ['v-b']);
  await clock.advance(periodMs);
  assert.deepEqual(calls.slice(4), ['v-a', 'v-c', 'v-b']);
});

test('a thread that dies, a receiver that fails and a write that fails end nothing else; no text of a driver is logged', async () => {
  let calledTimes = 0;
  const { manager, clock, calls, volumes, lines } = aManager({
    volume: async () => {
      calledTimes += 1;
      if (calledTimes === 1) throw new Error('the thread died');
      return { outcome: 'reported', conditions: [slow] };
    },
    storage: async () => ({ outcome: 'reported', conditions: [slowStorage] }),
    write: async () => {
      throw new ApiError(422, 'Invalid', 'status.storageHealth[0].message: "secret"');
    },
  });
  manager.add('d');
  volumes.push(aVolume('a'), aVolume('broken'), aVolume('c'));
  for (let period = 0; period < 2; period += 1) await clock.advance(periodMs);
  assert.deepEqual(calls, ['d', 'v-a', 'v-broken', 'v-c', 'd', 'v-a', 'v-broken', 'v-c']);
  assert.doesNotMatch(JSON.stringify(lines), /secret/);
  assert.ok(lines.some(({ err }) => err === 'the API server does not admit the conditions'));
});

test('what a driver has reported of its storage goes with it, and its late answer is dropped', async () => {
  const late = Promise.withResolvers<StorageHealthReply>();
  const { manager, clock, reported } = aManager({ storage: () => late.promise });
  manager.add('d');
  await clock.advance(periodMs);
  manager.remove('d');
  manager.remove('d');
  late.resolve({ outcome: 'reported', conditions: [slowStorage] });
  await settle();
  assert.deepEqual(reported, ['d ']);
});

test('a closed manager asks nothing more, and drops answers', async () => {
  const late = Promise.withResolvers<VolumeHealthReply>();
  const { manager, clock, calls, reported, volumes } = aManager({ volume: () => late.promise });
  volumes.push(aVolume('a'), aVolume('b'));
  await clock.advance(periodMs);
  manager.close();
  late.resolve({ outcome: 'reported', conditions: [slow] });
  await clock.advance(periodMs);
  assert.deepEqual(calls, ['v-a']);
  assert.deepEqual(reported, []);
});

table('the name under which a volume is in the status', (row) => {
  const claim = (name: string, claimName: string): Volume => ({ name, persistentVolumeClaim: { claimName } });
  const volumes = [
    claim('unused', 'c1'),
    claim('first', 'c1'),
    claim('second', 'c1'),
    claim('other', 'c2'),
    { name: 'own', ephemeral: {} },
  ];
  const volumeMounts = ['second', 'first', 'other', 'own'].map((name) => ({ name, mountPath: `/${name}` }));
  const pod = aPod({ spec: { containers: [{ name: 'app', volumeMounts }], volumes } });
  for (const [name, want] of [
    ['first', 'first'],
    ['second', 'first'],
    ['other', 'other'],
    ['own', 'own'],
  ] as const)
    row(name, () =>
      assert.equal(
        nameInStatus(
          pod,
          volumes.find((volume) => volume.name === name)!,
        ),
        want,
      ),
    );
});
