/** Which publications reach the volumes thread, and what happens to those of pods that end meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { VolumeManager, VolumeObjects } from '../../../../src/main/volumes/index.ts';
import type { ApiCall, ApiClient } from '../../../../src/main/api/index.ts';
import type { RecordedEvent } from '../../../../src/shared/contracts/event.ts';
import type { LocalVolumeRequest, PublishVolumeRequest, VolumeReply } from '../../../../src/shared/contracts/volumes.ts';
import { withTokens } from '../../../../src/main/volumes/claims/service-account-tokens.ts';
import type { TokenRef } from '../../../../src/shared/contracts/pod-objects.ts';
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
/** A pod with a volume of its own; the driver wants tokens, and to publish with each sync. */
const inlinePod: Pod = { ...pod, spec: { ...pod.spec, serviceAccountName: 'sa', volumes: [{ name: 'v', csi: { driver: 'tokens' } }] } };
const driverWithTokens = {
  attachRequired: false,
  volumeLifecycleModes: ['Ephemeral'],
  tokenRequests: [{ audience: 'vault', expirationSeconds: 600 }, {}],
  requiresRepublish: true,
};
const wantTokens = {
  'csi.storage.k8s.io/serviceAccount.tokens': JSON.stringify({
    '': { token: '/sa/3600', expirationTimestamp: '2027-01-15T08:00:00Z' },
    vault: { token: 'vault/sa/600', expirationTimestamp: '2027-01-15T08:00:00Z' },
  }),
};

const zoneA = { nodeSelectorTerms: [{ matchExpressions: [{ key: 'zone', operator: 'In', values: ['a'] }] }] };
const nameIsN1 = { key: 'metadata.name', operator: 'In', values: ['n1'] };

/** A claim that is bound to `pv-<name>`. */
function claimWith(name: string, spec: object): Readonly<Record<string, object>> {
  return {
    [`/api/v1/namespaces/shop/persistentvolumeclaims/${name}`]: {
      metadata: { name, namespace: 'shop', uid: `claim-${name}` },
      spec: { volumeName: `pv-${name}` },
      status: { phase: 'Bound' },
    },
    [`/api/v1/persistentvolumes/pv-${name}`]: {
      metadata: { name: `pv-${name}`, uid: 'u' },
      spec: { claimRef: { uid: `claim-${name}` }, accessModes: ['ReadWriteOnce'], ...spec },
    },
  };
}

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
  ...claimWith('disk', { local: { path: '/mnt/disk' }, mountOptions: ['noatime'], nodeAffinity: { required: zoneA } }),
  ...claimWith('far', { local: { path: '/mnt/disk' }, nodeAffinity: { required: { nodeSelectorTerms: [{ matchFields: [nameIsN1] }] } } }),
  ...claimWith('path', { hostPath: { path: '/data', type: 'Directory' } }),
  ...claimWith('options', { hostPath: { path: '/data' }, mountOptions: ['ro'] }),
  ...claimWith('back', { hostPath: { path: '/data/../etc' } }),
  ...claimWith('device', { local: { path: '/dev/sdb' }, volumeMode: 'Block' }),
  ...claimWith('other', { nfs: { server: 's' } }),
  '/apis/storage.k8s.io/v1/csidrivers/tokens': { metadata: { name: 'tokens', uid: 'u' }, spec: driverWithTokens },
  '/apis/storage.k8s.io/v1/csidrivers/d': { metadata: { name: 'd', uid: 'u' }, spec: { attachRequired: false } },
};

function aManager() {
  const clock = new FakeClock();
  const calls: string[] = [];
  const localRequests: LocalVolumeRequest[] = [];
  const events: RecordedEvent[] = [];
  const claims: string[] = [];
  const requests: PublishVolumeRequest[] = [];
  const republication: VolumeReply = { outcome: 'failed', message: 'MountVolume.SetUp failed : again' };
  const client = {
    call: async ({ path }: ApiCall) => {
      calls.push(`GET ${path.split('/').at(-1)}`);
      return objects[path];
    },
  } as unknown as ApiClient;
  const publication = Promise.withResolvers<VolumeReply>();
  const thread = {
    publishVolume: async (request: PublishVolumeRequest) => {
      calls.push('publish');
      requests.push(request);
      return request.isRepublish ? republication : publication.promise;
    },
    publishLocalVolume: async (request: LocalVolumeRequest) => {
      localRequests.push(request);
      return publication.promise;
    },
    checkHostPath: async (path: string, type: string) => {
      calls.push(`check ${path} ${type}`);
      return publication.promise;
    },
    unpublishVolume: async () => {
      calls.push('unpublish');
      return { outcome: 'done' } as const;
    },
  };
  const manager = new VolumeManager({
    objects: new VolumeObjects(client, clock),
    thread,
    attachments: undefined,
    wake: () => calls.push('wake'),
    reject: (_, { message }) => calls.push(message),
    getToken: async ({ audience, serviceAccountName, expirationSeconds }) => ({
      token: `${audience}/${serviceAccountName}/${expirationSeconds}`,
      expiresAtMs: 1_800_000_000_500,
    }),
    nodeLabels: () => ({ zone: 'a' }),
    claimedVolumes: {
      put: ({ volume, claim, folder }) => void claims.push(`${volume} ${claim} ${folder}`),
      removePod: () => claims.splice(0),
    },
    events: { record: (event) => void events.push(event) },
    clock,
  });
  return { manager, calls, claims, requests, localRequests, events, clock, publish: (reply: VolumeReply) => publication.resolve(reply) };
}
const uid = podUID(pod);

test('a published volume costs later syncs nothing', async () => {
  const { manager, calls, claims, publish } = aManager();
  assert.equal(manager.areReady(pod), false);
  publish({ outcome: 'done' });
  const want = { outcome: 'published', volume: { place: { plugin: 'kubernetes.io/csi', specName: 'pv1' }, readOnly: false } };
  assert.deepEqual(await manager.publish(pod, 'v'), want);
  assert.deepEqual(await manager.publish(pod, 'v'), want);
  assert.equal(manager.areReady(pod), true);
  assert.deepEqual(calls, ['GET c1', 'GET pv1', 'GET d', 'publish']);
  assert.deepEqual(claims, ['v c1 pv1']);
  manager.forget(uid);
  assert.deepEqual(claims, []);
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

test('the CSI volume of a claim is known from the request of its publication on until the pod ends, also when the driver fails', async () => {
  const { manager, publish } = aManager();
  const publishing = manager.publish(pod, 'v');
  assert.deepEqual(manager.claimedCsiVolumes(), []);
  publish({ outcome: 'failed', message: 'rpc error' });
  await publishing;
  assert.deepEqual(manager.claimedCsiVolumes(), [
    { uid, volumeName: 'v', request: { podUID: uid, specName: 'pv1', driver: 'd', volumeHandle: 'h' } },
  ]);
  manager.end(uid);
  assert.deepEqual(manager.claimedCsiVolumes(), []);
});

test('a volume that the pod defines itself, and one of another kind, are no CSI volumes of claims', async () => {
  const { manager, publish } = aManager();
  publish({ outcome: 'done' });
  await manager.publish(inlinePod, 'v');
  await manager.publish(podOf('disk'), 'v');
  assert.deepEqual(manager.claimedCsiVolumes(), []);
});

test('a pod that ends while its claim is read gets nothing published', async () => {
  const { manager, calls } = aManager();
  const publishing = manager.publish(pod, 'v');
  manager.end(uid);
  manager.forget(uid);
  assert.deepEqual(await publishing, { outcome: 'waiting', message: 'volume "v" is not mounted: the pod ends' });
  assert.ok(!calls.includes('publish'));
});

const podOf = (claimName: string, securityContext?: object): Pod => ({
  ...pod,
  spec: {
    ...pod.spec,
    ...(securityContext && { securityContext }),
    volumes: [{ name: 'v', persistentVolumeClaim: { claimName, readOnly: claimName === 'path' } }],
  },
});

test('a local volume goes to its thread with what its pod and its persistent volume say', async () => {
  const { manager, localRequests, events, publish } = aManager();
  publish({ outcome: 'done', warning: 'The requested fsGroup is 2000' });
  assert.deepEqual(await manager.publish(podOf('disk', { fsGroup: 2000, fsGroupChangePolicy: 'OnRootMismatch' }), 'v'), {
    outcome: 'published',
    volume: { place: { plugin: 'kubernetes.io/local-volume', specName: 'pv-disk' }, readOnly: false },
  });
  assert.deepEqual(localRequests, [
    {
      podUID: 'pod-1',
      specName: 'pv-disk',
      path: '/mnt/disk',
      fsType: '',
      mountOptions: ['noatime'],
      accessModes: ['ReadWriteOnce'],
      readOnly: false,
      fsGroup: { fsGroup: 2000, onlyOnRootMismatch: true },
    },
  ]);
  assert.deepEqual(
    events.map(({ reason, message, object }) => [reason, message, object.name]),
    [['AlreadyMountedVolume', 'The requested fsGroup is 2000', 'web']],
  );
});

test('a hostPath is mounted as it is, once its type is checked', async () => {
  const { manager, calls, publish } = aManager();
  publish({ outcome: 'done' });
  const want = { outcome: 'published', volume: { place: { hostPath: '/data' }, readOnly: true } };
  assert.deepEqual(await manager.publish(podOf('path'), 'v'), want);
  assert.equal(calls.at(-1), 'check /data Directory');
});

test('a disk with another filesystem is named in an event of its persistent volume', async () => {
  const { manager, events, publish } = aManager();
  publish({ outcome: 'failed', message: 'MountVolume.MountDevice failed', mismatch: 'MountVolume failed for volume "pv-disk"' });
  assert.deepEqual(await manager.publish(podOf('disk'), 'v'), { outcome: 'failed', message: 'MountVolume.MountDevice failed' });
  assert.deepEqual(
    events.map(({ reason, object }) => [reason, object.kind, object.name]),
    [['FailedMountOnFilesystemMismatch', 'PersistentVolume', 'pv-disk']],
  );
});

const refused: Readonly<Record<string, { readonly claim: string; readonly outcome: string; readonly message: string }>> = {
  'of another node': {
    claim: 'far',
    outcome: 'failed',
    message: 'MountVolume.NodeAffinity check failed for volume "pv-far" : no matching NodeSelectorTerms',
  },
  'of hostPath with mount options': {
    claim: 'options',
    outcome: 'failed',
    message: 'MountVolume.MountOptionSupport check failed for volume "pv-options" : mount options are not supported for this volume type',
  },
  'of hostPath that leads back': {
    claim: 'back',
    outcome: 'failed',
    message: 'MountVolume.SetUp failed for volume "pv-back" : invalid HostPath `/data/../etc`: must not contain \'..\'',
  },
  'of a block device that is mounted as a folder': {
    claim: 'device',
    outcome: 'unprocessed',
    message: 'error processing PVC shop/device: volume v has volumeMode Block, but is specified in volumeMounts',
  },
  'of a kind that this kubelet does not have': {
    claim: 'other',
    outcome: 'unprocessed',
    message: 'error processing PVC shop/other: this kubelet does not support the kind of PV pv-other',
  },
};
for (const [name, { claim, outcome, message }] of Object.entries(refused)) {
  test(`a persistent volume ${name} is refused`, async () => {
    assert.deepEqual(await aManager().manager.publish(podOf(claim), 'v'), { outcome, message });
  });
}

test('a driver gets the tokens that it requests, where it wants them', async () => {
  const { manager, requests, publish } = aManager();
  publish({ outcome: 'done' });
  await manager.publish(inlinePod, 'v');
  assert.deepEqual([requests[0]?.podAttributes, requests[0]?.publishSecrets], [wantTokens, {}]);
  assert.deepEqual(requests[0]?.hiddenTexts, ['vault/sa/600', '/sa/3600']);
  const driver = { metadata: { name: 'tokens', uid: 'u' }, spec: { ...driverWithTokens, serviceAccountTokenInSecrets: true } };
  const getToken = async ({ audience, serviceAccountName, expirationSeconds }: TokenRef) => ({
    token: `${audience}/${serviceAccountName}/${expirationSeconds}`,
    expiresAtMs: 1_800_000_000_500,
  });
  const [request] = requests;
  assert.ok(request);
  const inSecrets = await withTokens({ ...request, podAttributes: {} }, inlinePod, driver, getToken);
  assert.deepEqual([inSecrets.podAttributes, inSecrets.publishSecrets], [{}, wantTokens]);
});

test('a volume is published with each sync for a driver that requires it; a failure is an event, and the volume stays', async () => {
  const { manager, requests, events, publish } = aManager();
  publish({ outcome: 'done' });
  const want = { outcome: 'published', volume: { place: { plugin: 'kubernetes.io/csi', specName: 'v' }, readOnly: false } };
  assert.deepEqual(await manager.publish(inlinePod, 'v'), want);
  assert.deepEqual(await manager.publish(inlinePod, 'v'), want);
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
  assert.deepEqual(
    requests.map(({ isRepublish }) => isRepublish),
    [undefined, true],
  );
  assert.deepEqual(
    events.map(({ reason, message }) => [reason, message]),
    [['FailedMount', 'MountVolume.SetUp failed : again']],
  );
  assert.equal(manager.areReady(inlinePod), true);
  manager.end(uid);
  await manager.publish(inlinePod, 'v');
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
  assert.equal(requests.length, 2);
});
