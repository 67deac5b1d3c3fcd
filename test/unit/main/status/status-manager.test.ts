import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodManager } from '../../../../src/main/pods/pod-manager.ts';
import type { StatusUpdate } from '../../../../src/main/pods/pod-statuses.ts';
import { StatusManager } from '../../../../src/main/status/index.ts';
import type { Pod, PodStatus } from '../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { apiError } from '../../../support/fake-api.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { FakePodApi } from '../../../support/fake-pod-api.ts';
import { aLogger } from '../../../support/logger.ts';
import { aPod } from '../../../support/pods.ts';

const startTime = '2026-01-01T00:00:00Z';
const deletionTimestamp = startTime;

function anApiPod(name = 'web', fields: { metadata?: Partial<Pod['metadata']>; status?: PodStatus } = {}): Pod {
  const annotations = { 'kubernetes.io/config.source': 'api' };
  return aPod({ metadata: { name, uid: `uid-${name}`, annotations, ...fields.metadata }, status: fields.status ?? { phase: 'Pending' } });
}

function aManager() {
  const api = new FakePodApi();
  const clock = new FakeClock();
  const podManager = new PodManager();
  const logs = aLogger();
  const manager = new StatusManager({ client: api, apiPod: api.apiPod, podManager, clock, logger: logs.logger, random: () => 0 });
  const say = async (pod: Pod, status: PodStatus, fields: Partial<StatusUpdate> = {}) => {
    manager.set({ pod, status: { startTime, ...status }, mayRun: true, isFinished: false, ...fields });
    await settle();
  };
  /** The watch shows what there is, to the pod manager too. */
  const show = async () => {
    api.show();
    for (const pod of api.seen.values()) podManager.set(pod);
    await settle();
  };
  return { api, clock, podManager, logs, manager, say, show };
}

test('a status is one patch, without a look at the pod before', async () => {
  const { api, say } = aManager();
  const pod = api.add(anApiPod());
  await say(pod, { phase: 'Running' });
  assert.deepEqual(api.calls, ['PATCH web Running']);
  assert.equal(api.pods.get('web')?.status?.phase, 'Running');
});

test('a kubelet that starts and finds what was said writes nothing', async () => {
  const { api, say, manager } = aManager();
  const pod = api.add(anApiPod('web', { status: { phase: 'Running', startTime } }));
  await say(pod, { phase: 'Running' });
  manager.sweep();
  await settle();
  assert.deepEqual(api.calls, []);
});

test('the next patch is made from the answer to the last, also before the watch has shown it', async () => {
  const { api, say } = aManager();
  const pod = api.add(anApiPod());
  await say(pod, { phase: 'Pending' });
  await say(pod, { phase: 'Running' });
  await say(pod, { phase: 'Running', podIP: '10.0.0.7' });
  assert.deepEqual(api.bodies.at(-1), { metadata: { uid: 'uid-web' }, status: { podIP: '10.0.0.7' } });
  assert.deepEqual(api.calls, ['PATCH web', 'PATCH web Running', 'PATCH web']);
});

test('what comes while a patch is under way is one patch after it', async () => {
  const { api, say } = aManager();
  const pod = api.add(anApiPod());
  api.held = true;
  await say(pod, { phase: 'Pending' });
  await say(pod, { phase: 'Running', podIP: '10.0.0.6' });
  await say(pod, { phase: 'Running', podIP: '10.0.0.7' });
  assert.equal(api.calls.length, 1);
  api.release();
  await settle();
  assert.deepEqual(api.calls, ['PATCH web', 'PATCH web Running']);
  assert.equal(api.pods.get('web')?.status?.podIP, '10.0.0.7');
});

test('a step of a start that comes while the first patch is under way waits for the next as any other', async () => {
  const { api, say, clock } = aManager();
  const pod = api.add(anApiPod());
  api.held = true;
  await say(pod, { phase: 'Pending' });
  await say(pod, { phase: 'Pending', podIP: '10.0.0.7' });
  api.release();
  await settle();
  await say(pod, { phase: 'Running', podIP: '10.0.0.7' });
  await clock.advance(60_000);
  assert.deepEqual(api.calls, ['PATCH web', 'PATCH web Running']);
});

test('a step of a start is told after a second when nothing overtakes it', async () => {
  const { api, say, clock } = aManager();
  const pod = api.add(anApiPod());
  await say(pod, { phase: 'Pending' });
  await say(pod, { phase: 'Pending', podIP: '10.0.0.7' });
  await clock.advance(999);
  assert.equal(api.calls.length, 1);
  await clock.advance(1);
  assert.equal(api.pods.get('web')?.status?.podIP, '10.0.0.7');
});

test('pods do not wait for each other, up to sixteen at a time', async () => {
  const { api, say } = aManager();
  api.held = true;
  for (let index = 0; index < 20; index += 1) await say(api.add(anApiPod(`pod-${index}`)), { phase: 'Pending' });
  assert.equal(api.calls.length, 16);
  api.release();
  await settle();
  assert.equal(api.calls.length, 20);
});

test('a pod that was deleted, or is ready for the first time, goes before those that wait', async () => {
  const { api, say } = aManager();
  api.held = true;
  for (let index = 0; index < 17; index += 1) await say(api.add(anApiPod(`pod-${index}`)), { phase: 'Pending' });
  await say(api.add(anApiPod('ready')), { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
  await say(api.add(anApiPod('deleted', { metadata: { deletionTimestamp } })), { phase: 'Pending' });
  api.release();
  await settle();
  assert.deepEqual(api.calls.slice(16), ['PATCH ready Running', 'PATCH deleted', 'PATCH pod-16']);
});

test('a phase that somebody made terminal meanwhile is a conflict, is read, and stays', async () => {
  const { api, say } = aManager();
  const pod = api.add(anApiPod());
  api.change('web', { status: { phase: 'Failed', reason: 'NodeLost' } });
  await say(pod, { phase: 'Running', podIP: '10.0.0.7' });
  assert.deepEqual(api.calls, ['PATCH web Running', 'GET web', 'PATCH web']);
  const { status } = api.pods.get('web')!;
  assert.deepEqual([status?.phase, status?.reason, status?.podIP], ['Failed', 'NodeLost', '10.0.0.7']);
});

test('conditions that somebody wrote meanwhile stay, without a conflict', async () => {
  const { api, say } = aManager();
  const pod = api.add(anApiPod('web', { status: { phase: 'Running', startTime } }));
  api.change('web', { status: { conditions: [{ type: 'example.com/gate', status: 'True' }] } });
  await say(pod, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
  assert.deepEqual(api.calls, ['PATCH web']);
  assert.deepEqual(
    api.pods.get('web')?.status?.conditions?.map(({ type }) => type),
    ['example.com/gate', 'Ready'],
  );
});

test('a pod that was deleted and made again under its name gets nothing of the old one', async () => {
  const { api, say, manager } = aManager();
  const pod = api.add(anApiPod());
  api.put(anApiPod('web', { metadata: { uid: 'uid-new' } }));
  await say(pod, { phase: 'Running' });
  await say(pod, { phase: 'Failed' }, { mayRun: false });
  assert.deepEqual(api.calls, ['PATCH web Running', 'GET web']);
  assert.equal(api.pods.get('web')?.status?.phase, 'Pending');
  api.show();
  manager.sweep();
  await settle();
  assert.equal(api.calls.length, 2);
});

test('a pod that is not there any more is not asked for again', async () => {
  const { api, say, clock } = aManager();
  const pod = api.add(anApiPod());
  api.pods.clear();
  await say(pod, { phase: 'Running' });
  await say(pod, { phase: 'Failed' });
  await clock.advance(60_000);
  assert.deepEqual(api.calls, ['PATCH web Running']);
});

test('a terminal phase is told when nothing runs any more, and the object goes when nothing is left', async () => {
  const { api, say, show } = aManager();
  const pod = api.add(anApiPod('web', { status: { phase: 'Running', startTime } }));
  api.change('web', { metadata: { deletionTimestamp } });
  await show();
  await say(pod, { phase: 'Failed' });
  assert.deepEqual(api.calls, []);
  await say(pod, { phase: 'Failed' }, { mayRun: false });
  assert.deepEqual(api.calls, ['PATCH web Failed']);
  await say(pod, { phase: 'Failed' }, { mayRun: false, isFinished: true });
  assert.deepEqual(api.calls, ['PATCH web Failed', 'DELETE web']);
  const { gracePeriodSeconds, preconditions } = api.bodies.at(-1) as Record<string, unknown>;
  assert.deepEqual([gracePeriodSeconds, preconditions], [0, { uid: 'uid-web' }]);
});

test('a pod that is deleted after it has ended goes as soon as the deletion is seen', async () => {
  const { api, say, show } = aManager();
  const pod = api.add(anApiPod());
  await say(pod, { phase: 'Succeeded' }, { mayRun: false, isFinished: true });
  assert.deepEqual(api.calls, ['PATCH web Succeeded']);
  api.change('web', { metadata: { deletionTimestamp } });
  await show();
  assert.deepEqual(api.calls, ['PATCH web Succeeded', 'DELETE web']);
});

test('an object that finalizers hold is deleted once', async () => {
  const { api, say, show, manager } = aManager();
  const pod = api.add(anApiPod('web', { metadata: { deletionTimestamp, finalizers: ['example.com/hold'] } }));
  await say(pod, { phase: 'Failed' }, { mayRun: false, isFinished: true });
  await show();
  manager.sweep();
  await settle();
  assert.deepEqual(api.calls, ['PATCH web Failed', 'DELETE web']);
});

test('a deletion that fails is tried again, without the status', async () => {
  const { api, say, clock } = aManager();
  const pod = api.add(anApiPod('web', { metadata: { deletionTimestamp }, status: { phase: 'Failed', startTime } }));
  api.failure = apiError(500, 'InternalError');
  await say(pod, { phase: 'Failed' }, { mayRun: false, isFinished: true });
  api.failure = null;
  await clock.advance(500);
  assert.deepEqual(api.calls, ['DELETE web', 'DELETE web']);
});

test('a status that could not be written is tried again after a back-off, the newest only, and each failure names the pod', async () => {
  const { api, say, clock, logs } = aManager();
  const pod = api.add(anApiPod());
  api.failure = apiError(503, 'ServiceUnavailable');
  await say(pod, { phase: 'Pending' });
  await say(pod, { phase: 'Running' });
  await clock.advance(499);
  assert.equal(api.calls.length, 1);
  await clock.advance(1);
  assert.equal(api.calls.length, 2);
  api.failure = null;
  await clock.advance(1000);
  assert.deepEqual(api.calls, ['PATCH web', 'PATCH web Running', 'PATCH web Running']);
  const errors = logs.lines.filter(({ msg }) => msg === 'Failed to update status for pod');
  assert.deepEqual(
    errors.map((line) => [line['pod'], line['podUID'], line['retryAfterMs']]),
    [
      ['default/web', 'uid-web', 500],
      ['default/web', 'uid-web', 1000],
    ],
  );
});

test('once the server answers one pod, the others that it did not answer are tried at once', async () => {
  const { api, say, clock } = aManager();
  api.failure = apiError(0, 'Unreachable');
  const pods = ['a', 'b', 'c'].map((name) => api.add(anApiPod(name)));
  await say(pods[0]!, { phase: 'Pending' });
  await clock.advance(400);
  for (const pod of pods.slice(1)) await say(pod, { phase: 'Pending' });
  api.failure = null;
  await clock.advance(100);
  assert.deepEqual(api.calls.slice(3).toSorted(), ['PATCH a', 'PATCH b', 'PATCH c']);
});

test('what somebody else wrote over the kubelet’s status is set right by the sweep', async () => {
  const { api, say, show, clock, manager } = aManager();
  const pod = api.add(anApiPod());
  await say(pod, { phase: 'Running', podIP: '10.0.0.7' });
  api.change('web', { status: { podIP: '10.9.9.9' } });
  await show();
  assert.equal(api.calls.length, 1);
  const stop = new AbortController();
  const watching = manager.watch(stop.signal);
  await clock.advance(10_000);
  assert.equal(api.pods.get('web')?.status?.podIP, '10.0.0.7');
  stop.abort();
  await watching;
});

test('what the server takes no notice of is not sent again and again', async () => {
  const { api, say, show, manager } = aManager();
  api.ignored = ['ephemeralContainerStatuses'];
  const pod = api.add(anApiPod());
  const ephemeralContainerStatuses = [{ name: 'debug', image: 'x', imageID: '', ready: false, restartCount: 0 }];
  await say(pod, { phase: 'Running', ephemeralContainerStatuses });
  for (let round = 0; round < 3; round += 1) {
    await show();
    manager.sweep();
    await settle();
  }
  assert.equal(api.calls.length, 1);
});

test('in a cluster that was restored from an older copy, statuses are compared with what is there, not with answers from before', async () => {
  const { api, say, manager } = aManager();
  const pod = api.add(anApiPod());
  await say(pod, { phase: 'Running', podIP: '10.0.0.7' });
  api.restore([pod]);
  manager.onListed();
  manager.sweep();
  await settle();
  assert.deepEqual(api.calls, ['PATCH web Running', 'PATCH web Running']);
  assert.equal(api.pods.get('web')?.status?.podIP, '10.0.0.7');
});

test('an object that a restored cluster has again, although it was deleted, is deleted there too', async () => {
  const { api, say, manager } = aManager();
  const pod = api.add(anApiPod('web', { metadata: { deletionTimestamp }, status: { phase: 'Failed', startTime } }));
  await say(pod, { phase: 'Failed' }, { mayRun: false, isFinished: true });
  api.restore([pod]);
  manager.onListed();
  manager.sweep();
  await settle();
  assert.deepEqual(api.calls, ['DELETE web', 'DELETE web']);
  assert.equal(api.pods.size, 0);
});

const manifestHash = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'h1' };
const aStatic = () => aPod({ metadata: { name: 'web', uid: 'static-uid', annotations: manifestHash } });
const aMirror = (uid: string, hash = 'h1') =>
  anApiPod('web', { metadata: { uid, annotations: { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': hash } } });

test('a static pod’s status goes to its mirror pod, as soon as that is there', async () => {
  const { api, podManager, say, show } = aManager();
  podManager.set(aStatic());
  await say(aStatic(), { phase: 'Running' });
  assert.deepEqual(api.calls, []);
  api.put(aMirror('mirror-1'));
  await show();
  assert.deepEqual(api.bodies.at(-1), { metadata: { uid: 'mirror-1', resourceVersion: '101' }, status: { phase: 'Running', startTime } });
});

test('a mirror pod that is made anew is told all of it', async () => {
  const { api, podManager, say, show } = aManager();
  podManager.set(aStatic());
  api.put(aMirror('mirror-1'));
  await show();
  await say(aStatic(), { phase: 'Running' });
  podManager.remove('mirror-1' as PodUID);
  api.put(aMirror('mirror-2'));
  await show();
  assert.equal(api.pods.get('web')?.status?.phase, 'Running');
  assert.equal(api.calls.length, 2);
});

test('a mirror pod of another manifest is told nothing, and none is deleted with its pod’s end', async () => {
  const { api, podManager, say, show } = aManager();
  podManager.set(aStatic());
  api.put(aMirror('mirror-1', 'other'));
  await show();
  await say(aStatic(), { phase: 'Running' });
  assert.deepEqual(api.calls, []);
  api.put({ ...aMirror('mirror-2'), metadata: { ...aMirror('mirror-2').metadata, deletionTimestamp } });
  await show();
  await say(aStatic(), { phase: 'Failed' }, { mayRun: false, isFinished: true });
  assert.deepEqual(api.calls, ['PATCH web Running', 'PATCH web Failed']);
});

test('a pod that is forgotten is not told of any more', async () => {
  const { api, say, manager, clock } = aManager();
  const pod = api.add(anApiPod());
  await say(pod, { phase: 'Pending' });
  await say(pod, { phase: 'Pending', podIP: '10.0.0.7' });
  manager.forget('uid-web' as PodUID);
  await clock.advance(60_000);
  assert.equal(api.calls.length, 1);
});

test('a pod that is forgotten and comes again while a request is under way is told of', async () => {
  const { api, say, manager } = aManager();
  const pod = api.add(anApiPod());
  api.held = true;
  await say(pod, { phase: 'Pending' });
  manager.forget('uid-web' as PodUID);
  await say(pod, { phase: 'Running' });
  api.release();
  await settle();
  assert.equal(api.pods.get('web')?.status?.phase, 'Running');
});

test('a mirror pod that comes while its predecessor is found to be gone is told at once', async () => {
  const { api, podManager, say, show } = aManager();
  podManager.set(aStatic());
  api.put(aMirror('mirror-1'));
  await show();
  api.held = true;
  await say(aStatic(), { phase: 'Running' });
  api.pods.clear();
  podManager.remove('mirror-1' as PodUID);
  api.put(aMirror('mirror-2'));
  await show();
  api.release();
  await settle();
  assert.equal(api.pods.get('web')?.status?.phase, 'Running');
});

test('closing aborts what is under way', async () => {
  const { api, say, manager } = aManager();
  const pod = api.add(anApiPod());
  api.held = true;
  await say(pod, { phase: 'Running' });
  const closed = manager.close();
  api.release();
  await closed;
  assert.equal(api.pods.get('web')?.status?.phase, 'Pending');
});
