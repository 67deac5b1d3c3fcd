import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isMirrorOf, computeMirrorAction, toMirrorPod, ownerUID } from '../../../../../src/main/pods/static/mirror-pod.ts';
import { MirrorPods } from '../../../../../src/main/pods/static/mirror-pods.ts';
import { PodManager } from '../../../../../src/main/pods/pod-manager.ts';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { apiError } from '../../../../support/fake-api.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { FakePodApi } from '../../../../support/fake-pod-api.ts';
import { aLogger } from '../../../../support/logger.ts';
import { aPod } from '../../../../support/pods.ts';
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

const actions: { name: string; pod?: Pod; mirror?: Pod; orphanMayGo?: boolean; want: string }[] = [
  { name: 'a static pod without a mirror gets one', pod: aStatic(), want: 'create' },
  { name: 'a mirror that is right stays', pod: aStatic(), mirror: aMirror(), want: 'none' },
  { name: 'a mirror of another manifest goes', pod: aStatic('h2'), mirror: aMirror('h1'), want: 'delete' },
  { name: 'a mirror that somebody deletes goes', pod: aStatic(), mirror: aMirror('h1', { deletionTimestamp }), want: 'delete' },
  { name: 'a mirror without a static pod goes', mirror: aMirror(), orphanMayGo: true, want: 'delete' },
  { name: 'a mirror whose static pod may still come stays', mirror: aMirror(), want: 'none' },
  { name: 'nothing is nothing', want: 'none' },
];
table('what is to be done with a mirror pod', (row) => {
  for (const { name, pod, mirror, orphanMayGo = false, want } of actions) {
    row(name, () => assert.equal(computeMirrorAction(pod, mirror, orphanMayGo), want));
  }
});

test('a Node that is being deleted is no owner for mirror pods, nor is none', () => {
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

function aKeeper() {
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
    /** The watch shows what there is. */
    show: async () => {
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

test('a static pod that came while the API server was away gets its mirror when that is back, and not a back-off later', async () => {
  const { api, clock, set } = aKeeper();
  api.failure = apiError(0, 'Unreachable');
  await set(aStatic());
  // 1, 2, 4, 8, 16 and 32 s; the next try would come after a minute.
  await clock.advance(64_000);
  assert.deepEqual([api.calls.length, api.pods.size], [7, 0]);
  api.recover();
  await clock.advance(1);
  assert.deepEqual([api.calls.length, api.pods.size], [8, 1]);
});

test('a static pod gets its mirror as soon as it is there, and only one', async () => {
  const { api, set, show, reconcile, mirrored } = aKeeper();
  await set(aStatic());
  assert.deepEqual(api.calls, ['POST']);
  await show();
  await reconcile();
  assert.deepEqual(api.calls, ['POST']);
  assert.deepEqual(mirrored, ['static-h1 created-1']);
});

test('no mirror is made before the Node is known and the API source has said what there is', async () => {
  const { api, state, set, reconcile } = aKeeper();
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

test('a mirror that somebody deletes is removed and made anew at once', async () => {
  const { api, set, show } = aKeeper();
  await set(aStatic());
  await show();
  api.change('web', { metadata: { deletionTimestamp } });
  await show();
  assert.deepEqual(api.calls, ['POST', 'DELETE web', 'POST']);
  await show();
  assert.deepEqual(api.calls, ['POST', 'DELETE web', 'POST']);
  assert.equal(api.pods.get('web')?.metadata.uid, 'created-2');
});

test('a mirror that was removed without the kubelet is made anew', async () => {
  const { api, set, show } = aKeeper();
  await set(aStatic());
  await show();
  api.pods.clear();
  await show();
  assert.deepEqual(api.calls, ['POST', 'POST']);
});

test('a manifest that changes gets a mirror of its own', async () => {
  const { api, podManager, set, show } = aKeeper();
  await set(aStatic('h1'));
  await show();
  podManager.remove('static-h1' as PodUID);
  await set(aStatic('h2'));
  assert.deepEqual(api.calls, ['POST', 'DELETE web', 'POST']);
  assert.equal(api.pods.get('web')?.metadata.annotations?.['kubernetes.io/config.mirror'], 'h2');
});

test('a manifest that changes gets its mirror once the pod of the old one has ended', async () => {
  const { api, state, set, show, reconcile, podManager } = aKeeper();
  await set(aStatic('h1'));
  await show();
  state.isEnding = true;
  podManager.remove('static-h1' as PodUID);
  await set(aStatic('h2'));
  await reconcile();
  assert.equal(api.pods.get('web')?.metadata.uid, 'created-1');
  state.isEnding = false;
  await reconcile();
  assert.deepEqual(api.calls, ['POST', 'DELETE web', 'POST']);
});

test('the mirror of a static pod that is gone is removed once the pod has ended, by its UID', async () => {
  const { api, state, podManager, set, show, reconcile } = aKeeper();
  await set(aStatic());
  await show();
  state.isEnding = true;
  podManager.remove('static-h1' as PodUID);
  await reconcile();
  assert.deepEqual(api.calls, ['POST']);
  state.isEnding = false;
  await reconcile();
  assert.deepEqual(api.calls, ['POST', 'DELETE web']);
  assert.deepEqual((api.bodies.at(-1) as { preconditions: unknown }).preconditions, { uid: 'created-1' });
});

test('no mirror is taken for an orphan before every source has reported', async () => {
  const { api, state, set, reconcile } = aKeeper();
  state.sourcesReady = false;
  api.add(aMirror());
  await set(aMirror());
  await reconcile();
  assert.deepEqual(api.calls, []);
});

test('a mirror that is there already, unseen, is not made again', async () => {
  const { api, set } = aKeeper();
  api.put(aMirror());
  await set(aStatic());
  assert.deepEqual(api.calls, ['POST', 'GET web']);
});

test('an older mirror that was not seen goes before the new one comes', async () => {
  const { api, clock, set } = aKeeper();
  api.put(aMirror('old'));
  await set(aStatic());
  assert.deepEqual(api.calls, ['POST', 'GET web', 'DELETE web']);
  await clock.advance(1000);
  assert.deepEqual(api.calls.slice(3), ['POST']);
});

test('another pod of that name is left alone, and it is tried again with longer and longer waits', async () => {
  const { api, clock, logs, set } = aKeeper();
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

test('a server that is away costs nothing but the mirror, which comes when it is back', async () => {
  const { api, clock, set } = aKeeper();
  api.failure = apiError(0, 'Unreachable');
  await set(aStatic());
  await clock.advance(600_000);
  api.failure = null;
  await clock.advance(60_000);
  assert.equal(api.pods.get('web')?.metadata.uid, 'created-1');
});
