import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { apiError } from '../../../support/fake-api.ts';
import { settle } from '../../../support/fake-clock.ts';
import { aManager, anApiPod, deletionTimestamp, startTime } from '../../../support/status-manager.ts';

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
  api.paused = true;
  await say(pod, { phase: 'Pending' });
  await say(pod, { phase: 'Running', podIP: '10.0.0.6' });
  await say(pod, { phase: 'Running', podIP: '10.0.0.7' });
  assert.equal(api.calls.length, 1);
  api.resume();
  await settle();
  assert.deepEqual(api.calls, ['PATCH web', 'PATCH web Running']);
  assert.equal(api.pods.get('web')?.status?.podIP, '10.0.0.7');
});

test('a step of a start that comes while the first patch is under way waits for the next as any other', async () => {
  const { api, say, clock } = aManager();
  const pod = api.add(anApiPod());
  api.paused = true;
  await say(pod, { phase: 'Pending' });
  await say(pod, { phase: 'Pending', podIP: '10.0.0.7' });
  api.resume();
  await settle();
  await say(pod, { phase: 'Running', podIP: '10.0.0.7' });
  await clock.advance(60_000);
  assert.deepEqual(api.calls, ['PATCH web', 'PATCH web Running']);
});

test('a step of a start is told after two seconds when nothing overtakes it', async () => {
  const { api, say, clock } = aManager();
  const pod = api.add(anApiPod());
  await say(pod, { phase: 'Pending' });
  await say(pod, { phase: 'Pending', podIP: '10.0.0.7' });
  await clock.advance(1_999);
  assert.equal(api.calls.length, 1);
  await clock.advance(1);
  assert.equal(api.pods.get('web')?.status?.podIP, '10.0.0.7');
});

test('pods do not wait for each other, up to sixteen at a time', async () => {
  const { api, say } = aManager();
  api.paused = true;
  for (let index = 0; index < 20; index += 1) await say(api.add(anApiPod(`pod-${index}`)), { phase: 'Pending' });
  assert.equal(api.calls.length, 16);
  api.resume();
  await settle();
  assert.equal(api.calls.length, 20);
});

test('a pod that was deleted, or is ready for the first time, goes before those that wait', async () => {
  const { api, say } = aManager();
  api.paused = true;
  for (let index = 0; index < 17; index += 1) await say(api.add(anApiPod(`pod-${index}`)), { phase: 'Pending' });
  await say(api.add(anApiPod('ready')), { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
  await say(api.add(anApiPod('deleted', { metadata: { deletionTimestamp } })), { phase: 'Pending' });
  api.resume();
  await settle();
  assert.deepEqual(api.calls.slice(16), ['PATCH ready Running', 'PATCH deleted', 'PATCH pod-16']);
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
  api.paused = true;
  await say(pod, { phase: 'Pending' });
  manager.forget('uid-web' as PodUID);
  await say(pod, { phase: 'Running' });
  api.resume();
  await settle();
  assert.equal(api.pods.get('web')?.status?.phase, 'Running');
});

test('closing aborts what is under way', async () => {
  const { api, say, manager } = aManager();
  const pod = api.add(anApiPod());
  api.paused = true;
  await say(pod, { phase: 'Running' });
  const closed = manager.close();
  api.resume();
  await closed;
  assert.equal(api.pods.get('web')?.status?.phase, 'Pending');
});

/** A pod that the kubelet has just seen, under a manager that lets first statuses wait. */
function aNewPod() {
  const made = aManager({ firstStatusDelayMs: 500 });
  const annotations = { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.seen': new Date(made.clock.now()).toISOString() };
  return { ...made, pod: made.api.add(anApiPod('web', { metadata: { annotations } })) };
}

test('a pod that runs within half a second of its arrival gets one status', async () => {
  const { api, say, clock, pod } = aNewPod();
  await say(pod, { phase: 'Pending' });
  await clock.advance(499);
  await say(pod, { phase: 'Running' });
  await clock.advance(60_000);
  assert.deepEqual(api.calls, ['PATCH web Running']);
});

test('a pod that does not run half a second after it was seen gets its first status then', async () => {
  const { api, say, clock, pod } = aNewPod();
  await clock.advance(200);
  await say(pod, { phase: 'Pending' });
  await clock.advance(299);
  assert.deepEqual(api.calls, []);
  await clock.advance(1);
  assert.deepEqual(api.calls, ['PATCH web']);
});

test('trouble ends the delay of what is not written, and of no later step', async () => {
  const { api, say, clock, manager, pod } = aNewPod();
  await say(pod, { phase: 'Pending' });
  manager.expedite('uid-web' as PodUID);
  await settle();
  assert.equal(api.calls.length, 1);
  manager.expedite('uid-web' as PodUID);
  await say(pod, { phase: 'Pending', podIP: '10.0.0.7' });
  assert.equal(api.calls.length, 1);
  await clock.advance(2000);
  assert.equal(api.calls.length, 2);
});

test('trouble during a request ends the delay of what came meanwhile', async () => {
  const { api, say, manager } = aManager();
  const pod = api.add(anApiPod());
  api.paused = true;
  await say(pod, { phase: 'Pending' });
  await say(pod, { phase: 'Pending', podIP: '10.0.0.7' });
  manager.expedite('uid-web' as PodUID);
  api.resume();
  await settle();
  assert.equal(api.pods.get('web')?.status?.podIP, '10.0.0.7');
});

const unlimited = new AbortController().signal;

test('who waits for a status is woken when the newest one is written', async () => {
  const { api, say, manager } = aManager();
  const pod = api.add(anApiPod());
  assert.equal(manager.whenWritten('uid-web' as PodUID, unlimited), undefined);
  api.paused = true;
  await say(pod, { phase: 'Pending' });
  await say(pod, { phase: 'Running' });
  let isWritten = false;
  void manager.whenWritten('uid-web' as PodUID, unlimited)?.then(() => (isWritten = true));
  await settle();
  assert.equal(isWritten, false);
  api.resume();
  await settle();
  assert.deepEqual([isWritten, api.pods.get('web')?.status?.phase], [true, 'Running']);
  assert.equal(manager.whenWritten('uid-web' as PodUID, unlimited), undefined);
});

test('who waits for the status of a pod that is gone, or forgotten, is woken', async () => {
  const { api, say, manager } = aManager();
  const woken: string[] = [];
  const pods = ['gone', 'forgotten'].map((name) => api.add(anApiPod(name)));
  api.paused = true;
  for (const pod of pods) {
    await say(pod, { phase: 'Running' });
    void manager.whenWritten(pod.metadata.uid as PodUID, unlimited)?.then(() => woken.push(pod.metadata.name));
  }
  manager.forget('uid-forgotten' as PodUID);
  api.pods.delete('gone');
  api.resume();
  await settle();
  assert.deepEqual(woken.toSorted(), ['forgotten', 'gone']);
});

test('nobody waits for the status of a pod without an object', async () => {
  const { say, manager } = aManager();
  await say(anApiPod(), { phase: 'Running' });
  assert.equal(manager.whenWritten('uid-web' as PodUID, unlimited), undefined);
});

test('who has given up waiting for a status is not woken', async () => {
  const { api, say, manager } = aManager();
  const pod = api.add(anApiPod());
  api.paused = true;
  await say(pod, { phase: 'Running' });
  const patience = new AbortController();
  let isWritten = false;
  void manager.whenWritten('uid-web' as PodUID, patience.signal)?.then(() => (isWritten = true));
  patience.abort();
  api.resume();
  await settle();
  assert.deepEqual([api.calls.length, isWritten], [1, false]);
});
