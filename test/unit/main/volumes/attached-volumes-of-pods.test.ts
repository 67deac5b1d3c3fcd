/** A pod's volume that has to be attached first, from its claim to the volumes thread. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VolumeManager, type Attachments, type VolumeObjects } from '../../../../src/main/volumes/index.ts';
import type { PublishVolumeRequest } from '../../../../src/shared/contracts/volumes.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import { podUID } from '../../../../src/shared/kubernetes/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const pod: Pod = {
  metadata: { name: 'web', namespace: 'shop', uid: 'pod-1' },
  spec: {
    containers: [{ name: 'app', volumeMounts: [{ name: 'v', mountPath: '/v' }] }],
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'c1' } }],
  },
};
const uid = podUID(pod);
const objects = {
  claim: async () => ({ metadata: { name: 'c1', uid: 'claim-1' }, spec: { volumeName: 'pv1' }, status: { phase: 'Bound' } }),
  volume: async () => ({
    metadata: { name: 'pv1', uid: 'u' },
    spec: { claimRef: { uid: 'claim-1' }, csi: { driver: 'd', volumeHandle: 'h' } },
  }),
  driver: async () => null,
} as unknown as VolumeObjects;

function aManager() {
  const clock = new FakeClock();
  const calls: string[] = [];
  const attached = Promise.withResolvers<Awaited<ReturnType<Attachments['untilAttached']>>>();
  const requests: PublishVolumeRequest[] = [];
  let pendingSignal: AbortSignal | undefined;
  const manager = new VolumeManager({
    objects,
    thread: {
      publishVolume: async (request) => {
        requests.push(request);
        return { outcome: 'done' };
      },
      publishLocalVolume: async () => ({ outcome: 'done' }),
      checkHostPath: async () => ({ outcome: 'done' }),
      unpublishVolume: async () => ({ outcome: 'done' }),
    },
    attachments: {
      untilAttached: async (_, onWaiting, signal) => {
        pendingSignal = signal;
        onWaiting('Volume not attached according to node status for volume "pv1"');
        return attached.promise;
      },
      release: (_, specName) => calls.push(`release ${specName}`),
    },
    wake: () => calls.push('wake'),
    reject: (_, { message }) => calls.push(message),
    getToken: () => Promise.reject(new Error('no token')),
    nodeLabels: () => ({}),
    events: { record: () => {} },
    claimedVolumes: { put: () => {}, removePod: () => {} },
    clock,
  });
  return { manager, clock, calls, requests, attached, isAborted: () => pendingSignal?.aborted };
}

test('the pod waits without an event, and is woken when the volume is mounted, which gets the context of the attachment', async () => {
  const { manager, clock, calls, requests, attached } = aManager();
  const first = manager.publish(pod, 'v');
  await clock.advance(1000);
  assert.deepEqual(await first, {
    outcome: 'waiting',
    message: 'Volume not attached according to node status for volume "pv1" since 1s',
    isUnattached: true,
  });
  assert.deepEqual(requests, []);
  attached.resolve({ outcome: 'attached', publishContext: { device: 'sdb' } });
  await clock.advance(0);
  assert.deepEqual([calls, requests.map(({ publishContext }) => publishContext)], [['wake'], [{ device: 'sdb' }]]);
  assert.equal((await manager.publish(pod, 'v')).outcome, 'published');
});

test('a pod that ends publishes nothing, and its volume is not in use any more when nothing of it is left', async () => {
  const { manager, clock, calls, requests, attached, isAborted } = aManager();
  const first = manager.publish(pod, 'v');
  await clock.advance(1000);
  await first;
  manager.end(uid);
  assert.equal(isAborted(), true);
  attached.resolve({ outcome: 'attached', publishContext: {} });
  await clock.advance(0);
  assert.deepEqual([requests, calls], [[], ['wake']]);
  manager.forget(uid);
  assert.deepEqual(calls, ['wake', 'release pv1']);
});

test('a pod for whose volumes the node has no room is rejected', async () => {
  const { manager, calls, attached } = aManager();
  attached.resolve({ outcome: 'exhausted' });
  const message =
    'Node has reached its volume attachment limit, rejecting pod. unmounted volumes=[v], unattached volumes=[v], failed to process volumes=[]: context deadline exceeded';
  assert.deepEqual(await manager.publish(pod, 'v'), { outcome: 'waiting', message });
  assert.deepEqual(calls, [message]);
});

test('a volume that is unpublished is released', async () => {
  const { manager, calls, attached } = aManager();
  attached.resolve({ outcome: 'attached', publishContext: {} });
  await manager.publish(pod, 'v');
  assert.equal((await manager.unpublish(uid, { plugin: 'kubernetes.io/csi', specName: 'pv1' })).outcome, 'unpublished');
  assert.deepEqual(calls, ['release pv1']);
});
