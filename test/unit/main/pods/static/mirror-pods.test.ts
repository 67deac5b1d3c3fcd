import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMirrorOf, computeMirrorAction, toMirrorPod, ownerUID } from '../../../../../src/main/pods/static/mirror-pod.ts';
import { MirrorPods } from '../../../../../src/main/pods/static/mirror-pods.ts';
import { PodManager } from '../../../../../src/main/pods/pod-manager.ts';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { apiError } from '../../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { FakePodApi } from '../../../../support/api-server/fake-pod-api.ts';
import { aLogger } from '../../../../support/logger.ts';
import { aPod } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const deletionTimestamp = '2026-01-01T00:00:00Z';

function aStatic(hash = 'h1'): Pod {
  const annotations = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': hash };
  return aPod({ metadata: { name: 'web', uid: `static-${hash}`, annotations, labels: { app: 'web' } } });
}

function aMirror(hash = 'h1', metadata: Partial<Pod['metadata']> = {}): Pod {
  const annotations = { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': hash };
  return aPod({ metadata: { name: 'web', uid: `mirror-${hash}`, annotations, ...metadata } });
}

const actions: { name: string; pod?: Pod; mirror?: Pod; canDeleteOrphan?: boolean; want: string }[] = [
  { name: 'a static pod without a mirror needs one', pod: aStatic(), want: 'create' },
  { name: 'a current mirror is kept', pod: aStatic(), mirror: aMirror(), want: 'none' },
  { name: 'a mirror of another manifest is deleted', pod: aStatic('h2'), mirror: aMirror('h1'), want: 'delete' },
  { name: 'a mirror with a deletion timestamp is deleted', pod: aStatic(), mirror: aMirror('h1', { deletionTimestamp }), want: 'delete' },
  { name: 'an orphaned mirror is deleted', mirror: aMirror(), canDeleteOrphan: true, want: 'delete' },
  { name: 'an orphaned mirror is kept until every source has reported', mirror: aMirror(), want: 'none' },
  { name: 'without both nothing is needed', want: 'none' },
];
table('computing the action for a mirror pod', (row) => {
  for (const { name, pod, mirror, canDeleteOrphan = false, want } of actions) {
    row(name, () => assert.equal(computeMirrorAction(pod, mirror, canDeleteOrphan), want));
  }
});

test('a Node that is being deleted or absent owns no mirror pods', () => {
  const metadata = { name: 'node-1', uid: 'node-uid' };
  const owners = [null, undefined, { metadata }, { metadata: { ...metadata, deletionTimestamp } }].map(ownerUID);
  assert.deepEqual(owners, [undefined, undefined, 'node-uid', undefined]);
});

test('a mirror pod has the static pod’s labels, annotations and spec, its hash, and the Node as owner', () => {
  const mirror = toMirrorPod(aStatic(), { name: 'node-1', uid: 'node-uid' }) as Pod;
  assert.deepEqual(mirror.metadata, {
    name: 'web',
    namespace: 'default',
    labels: { app: 'web' },
    annotations: {
      'kubernetes.io/config.source': 'file',
      'kubernetes.io/config.hash': 'h1',
      'kubernetes.io/config.mirror': 'h1',
    },
    ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'node-1', uid: 'node-uid', controller: true }],
  });
  assert.deepEqual(mirror.spec, aStatic().spec);
  assert.equal(isMirrorOf(mirror, aStatic()), true);
  assert.equal(isMirrorOf(mirror, aStatic('h2')), false);
});

function aMirrorManager() {
  const api = new FakePodApi();
  const clock = new FakeClock();
  const podManager = new PodManager();
  const logs = aLogger();
  const state = { nodeUID: 'node-uid' as string | undefined, isSynced: true, sourcesReady: true, isEnding: false };
  const mirrored: string[] = [];
  const mirrors = new MirrorPods({
    client: api,
    podManager,
    nodeName: 'node-1',
    nodeUID: () => state.nodeUID,
    isSynced: () => state.isSynced,
    sourcesReady: () => state.sourcesReady,
    isStaticPodEnding: () => state.isEnding,
    onMirrorPod: (pod, mirror) => void mirrored.push(`${pod.metadata.uid} ${mirror.metadata.uid}`),
    clock,
    logger: logs.logger,
    random: () => 0,
  });
  return {
    api,
    clock,
    podManager,
    state,
    logs,
    mirrors,
    mirrored,
    set: async (pod: Pod) => {
      podManager.set(pod);
      await settle();
    },
    /** Delivers all objects through the watch. */
    syncWatch: async () => {
      const before = podManager.mirrorPods();
      api.syncWatch();
      for (const { metadata } of before) if (!api.watched.has(metadata.uid as PodUID)) podManager.remove(metadata.uid as PodUID);
      for (const pod of api.watched.values()) podManager.set(pod);
      await settle();
    },
    reconcile: async () => {
      mirrors.reconcile();
      await settle();
    },
  };
}

test('a static pod that was added while the API server was unavailable gets its mirror when the server is back, without the back-off', async () => {
  const { api, clock, set } = aMirrorManager();
  api.failure = apiError(0, 'Unreachable');
  await set(aStatic());
  // 1, 2, 4, 8, 16 and 32 s; the next retry would be after a minute.
  await clock.advance(64_000);
  assert.deepEqual([api.calls.length, api.pods.size], [7, 0]);
  api.recover();
  await clock.advance(1);
  assert.deepEqual([api.calls.length, api.pods.size], [8, 1]);
});

test('a static pod gets one mirror as soon as it is added', async () => {
  const { api, set, syncWatch, reconcile, mirrored } = aMirrorManager();
  await set(aStatic());
  assert.deepEqual(api.calls, ['POST']);
  await syncWatch();
  await reconcile();
  assert.deepEqual(api.calls, ['POST']);
  assert.deepEqual(mirrored, ['static-h1 created-1']);
});

test('no mirror is created before the Node is known and the API source has synced', async () => {
  const { api, state, set, reconcile } = aMirrorManager();
  state.nodeUID = undefined;
  state.isSynced = false;
  await set(aStatic());
  state.isSynced = true;
  await reconcile();
  assert.deepEqual(api.calls, []);
  state.nodeUID = 'node-uid';
  await reconcile();
  assert.deepEqual(api.calls, ['POST']);
});

test('a mirror with a deletion timestamp is deleted and recreated at once', async () => {
  const { api, set, syncWatch } = aMirrorManager();
  await set(aStatic());
  await syncWatch();
  api.change('web', { metadata: { deletionTimestamp } });
  await syncWatch();
  assert.deepEqual(api.calls, ['POST', 'DELETE web', 'POST']);
  await syncWatch();
  assert.deepEqual(api.calls, ['POST', 'DELETE web', 'POST']);
  assert.equal(api.pods.get('web')?.metadata.uid, 'created-2');
});

test('a mirror that another client removed is recreated', async () => {
  const { api, set, syncWatch } = aMirrorManager();
  await set(aStatic());
  await syncWatch();
  api.pods.clear();
  await syncWatch();
  assert.deepEqual(api.calls, ['POST', 'POST']);
});

test('a changed manifest gets a new mirror', async () => {
  const { api, podManager, set, syncWatch } = aMirrorManager();
  await set(aStatic('h1'));
  await syncWatch();
  podManager.remove('static-h1' as PodUID);
  await set(aStatic('h2'));
  assert.deepEqual(api.calls, ['POST', 'DELETE web', 'POST']);
  assert.equal(api.pods.get('web')?.metadata.annotations?.['kubernetes.io/config.mirror'], 'h2');
});

test('a changed manifest gets its mirror once the old pod has terminated', async () => {
  const { api, state, set, syncWatch, reconcile, podManager } = aMirrorManager();
  await set(aStatic('h1'));
  await syncWatch();
  state.isEnding = true;
  podManager.remove('static-h1' as PodUID);
  await set(aStatic('h2'));
  await reconcile();
  assert.equal(api.pods.get('web')?.metadata.uid, 'created-1');
  state.isEnding = false;
  await reconcile();
  assert.deepEqual(api.calls, ['POST', 'DELETE web', 'POST']);
});

test('the mirror of a removed static pod is deleted by its UID once the pod has terminated', async () => {
  const { api, state, podManager, set, syncWatch, reconcile } = aMirrorManager();
  await set(aStatic());
  await syncWatch();
  state.isEnding = true;
  podManager.remove('static-h1' as PodUID);
  await reconcile();
  assert.deepEqual(api.calls, ['POST']);
  state.isEnding = false;
  await reconcile();
  assert.deepEqual(api.calls, ['POST', 'DELETE web']);
  assert.deepEqual((api.bodies.at(-1) as { preconditions: unknown }).preconditions, { uid: 'created-1' });
});

test('no mirror is an orphan before every source has reported', async () => {
  const { api, state, set, reconcile } = aMirrorManager();
  state.sourcesReady = false;
  api.add(aMirror());
  await set(aMirror());
  await reconcile();
  assert.deepEqual(api.calls, []);
});

test('an existing mirror that the watch has not delivered is not created again', async () => {
  const { api, set } = aMirrorManager();
  api.put(aMirror());
  await set(aStatic());
  assert.deepEqual(api.calls, ['POST', 'GET web']);
});

test('an outdated mirror that the watch has not delivered is deleted before the new one is created', async () => {
  const { api, clock, set } = aMirrorManager();
  api.put(aMirror('old'));
  await set(aStatic());
  assert.deepEqual(api.calls, ['POST', 'GET web', 'DELETE web']);
  await clock.advance(1000);
  assert.deepEqual(api.calls.slice(3), ['POST']);
});

test('another pod of that name is not deleted, and the creation is retried with an exponential back-off', async () => {
  const { api, clock, logs, set } = aMirrorManager();
  api.put(aPod({ metadata: { name: 'web', uid: 'stranger' } }));
  await set(aStatic());
  await clock.advance(7000);
  assert.equal(api.pods.get('web')?.metadata.uid, 'stranger');
  const errors = logs.lines.filter(({ msg }) => msg === 'Failed to reconcile a mirror pod');
  assert.deepEqual(
    errors.map((line) => [line['pod'], line['retryAfterMs']]),
    [1000, 2000, 4000, 8000].map((ms) => ['default/web', ms]),
  );
});

test('an unavailable server delays only the mirror', async () => {
  const { api, clock, set } = aMirrorManager();
  api.failure = apiError(0, 'Unreachable');
  await set(aStatic());
  await clock.advance(600_000);
  api.failure = null;
  await clock.advance(60_000);
  assert.equal(api.pods.get('web')?.metadata.uid, 'created-1');
});
