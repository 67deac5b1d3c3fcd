/** Which publications reach the volumes thread, and what happens to those of pods that end meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VolumeManager, VolumeObjects } from '../../../../src/main/volumes/index.ts';
import type { ApiCall, ApiClient } from '../../../../src/main/api/index.ts';
import type { VolumeReply } from '../../../../src/shared/contracts/volumes.ts';
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
const objects: Readonly<Record<string, object>> = {
  '/api/v1/namespaces/shop/persistentvolumeclaims/c1': {
    metadata: { name: 'c1', namespace: 'shop', uid: 'claim-1' },
    spec: { volumeName: 'pv1' },
    status: { phase: 'Bound' },
  },
  '/api/v1/persistentvolumes/pv1': {
    metadata: { name: 'pv1', uid: 'u' },
    spec: { claimRef: { uid: 'claim-1' }, accessModes: ['ReadWriteOnce'], csi: { driver: 'd', volumeHandle: 'h' } },
  },
  '/apis/storage.k8s.io/v1/csidrivers/d': { metadata: { name: 'd', uid: 'u' }, spec: { attachRequired: false } },
};

function aManager() {
  const clock = new FakeClock();
  const calls: string[] = [];
  const client = {
    call: async ({ path }: ApiCall) => {
      calls.push(`GET ${path.split('/').at(-1)}`);
      return objects[path];
    },
  } as unknown as ApiClient;
  const publication = Promise.withResolvers<VolumeReply>();
  const thread = {
    publishVolume: async () => {
      calls.push('publish');
      return publication.promise;
    },
    unpublishVolume: async () => {
      calls.push('unpublish');
      return { outcome: 'done' } as const;
    },
  };
  const manager = new VolumeManager({ objects: new VolumeObjects(client, clock), thread, wake: () => calls.push('wake'), clock });
  return { manager, calls, clock, publish: (reply: VolumeReply) => publication.resolve(reply) };
}
const uid = podUID(pod);

test('a published volume costs later syncs nothing', async () => {
  const { manager, calls, publish } = aManager();
  assert.equal(manager.areReady(pod), false);
  publish({ outcome: 'done' });
  const want = { outcome: 'published', volume: { place: { plugin: 'kubernetes.io/csi', specName: 'pv1' }, readOnly: false } };
  assert.deepEqual(await manager.publish(pod, 'v'), want);
  assert.deepEqual(await manager.publish(pod, 'v'), want);
  assert.equal(manager.areReady(pod), true);
  assert.deepEqual(calls, ['GET c1', 'GET pv1', 'GET d', 'publish']);
});

test('a pod that ends while the driver publishes has its volume unpublished, and no other published', async () => {
  const { manager, calls, clock, publish } = aManager();
  const publishing = manager.publish(pod, 'v');
  await clock.advance(1000);
  assert.deepEqual(await publishing, { outcome: 'waiting', message: 'volume "v" is being mounted since 1s' });
  manager.end(uid);
  publish({ outcome: 'failed', message: 'the pod ends' });
  await clock.advance(0);
  manager.forget(uid);
  assert.deepEqual(calls.slice(0, 5), ['GET c1', 'GET pv1', 'GET d', 'publish', 'unpublish']);
});

test('a pod that ends while its claim is read gets nothing published', async () => {
  const { manager, calls } = aManager();
  const publishing = manager.publish(pod, 'v');
  manager.end(uid);
  manager.forget(uid);
  assert.deepEqual(await publishing, { outcome: 'waiting', message: 'volume "v" is not mounted: the pod ends' });
  assert.ok(!calls.includes('publish'));
});
