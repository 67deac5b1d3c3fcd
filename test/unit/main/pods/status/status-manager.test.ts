import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { apiError } from '../../../../support/api-server/fake-api.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aManager, anApiPod, deletionTimestamp, startTime } from '../../../../support/pods/status-manager.ts';

test('a status takes one patch and no read', async () => {
  const { api, setStatus } = aManager();
  const pod = api.add(anApiPod());
  await setStatus(pod, { phase: 'Running' });
  assert.deepEqual(api.calls, ['PATCH web Running']);
  assert.equal(api.pods.get('web')?.status?.phase, 'Running');
});

test('a restarted kubelet writes nothing when the API server has the same status', async () => {
  const { api, setStatus, manager } = aManager();
  const pod = api.add(anApiPod('web', { status: { phase: 'Running', startTime } }));
  await setStatus(pod, { phase: 'Running' });
  manager.syncAll();
  await settle();
  assert.deepEqual(api.calls, []);
});

test('a patch is computed from the response to the previous patch even before the watch delivers it', async () => {
  const { api, setStatus } = aManager();
  const pod = api.add(anApiPod());
  await setStatus(pod, { phase: 'Pending' });
  await setStatus(pod, { phase: 'Running' });
  await setStatus(pod, { phase: 'Running', podIP: '10.0.0.7' });
  assert.deepEqual(api.bodies.at(-1), { metadata: { uid: 'uid-web' }, status: { podIP: '10.0.0.7' } });
  assert.deepEqual(api.calls, ['PATCH web', 'PATCH web Running', 'PATCH web']);
});

test('changes during a request are sent in one patch after it', async () => {
  const { api, setStatus } = aManager();
  const pod = api.add(anApiPod());
  api.paused = true;
  await setStatus(pod, { phase: 'Pending' });
  await setStatus(pod, { phase: 'Running', podIP: '10.0.0.6' });
  await setStatus(pod, { phase: 'Running', podIP: '10.0.0.7' });
  assert.equal(api.calls.length, 1);
  api.resume();
  await settle();
  assert.deepEqual(api.calls, ['PATCH web', 'PATCH web Running']);
  assert.equal(api.pods.get('web')?.status?.podIP, '10.0.0.7');
});

test('a startup step during the first request is coalesced like any other', async () => {
  const { api, setStatus, clock } = aManager();
  const pod = api.add(anApiPod());
  api.paused = true;
  await setStatus(pod, { phase: 'Pending' });
  await setStatus(pod, { phase: 'Pending', podIP: '10.0.0.7' });
  api.resume();
  await settle();
  await setStatus(pod, { phase: 'Running', podIP: '10.0.0.7' });
  await clock.advance(60_000);
  assert.deepEqual(api.calls, ['PATCH web', 'PATCH web Running']);
});

test('a startup step is sent after two seconds when no change supersedes it', async () => {
  const { api, setStatus, clock } = aManager();
  const pod = api.add(anApiPod());
  await setStatus(pod, { phase: 'Pending' });
  await setStatus(pod, { phase: 'Pending', podIP: '10.0.0.7' });
  await clock.advance(1_999);
  assert.equal(api.calls.length, 1);
  await clock.advance(1);
  assert.equal(api.pods.get('web')?.status?.podIP, '10.0.0.7');
});

test('up to sixteen pods are written in parallel', async () => {
  const { api, setStatus } = aManager();
  api.paused = true;
  for (let index = 0; index < 20; index += 1) await setStatus(api.add(anApiPod(`pod-${index}`)), { phase: 'Pending' });
  assert.equal(api.calls.length, 16);
  api.resume();
  await settle();
  assert.equal(api.calls.length, 20);
});

test('deleted pods and pods that become ready are written first', async () => {
  const { api, setStatus } = aManager();
  api.paused = true;
  for (let index = 0; index < 17; index += 1) await setStatus(api.add(anApiPod(`pod-${index}`)), { phase: 'Pending' });
  await setStatus(api.add(anApiPod('ready')), { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
  await setStatus(api.add(anApiPod('deleted', { metadata: { deletionTimestamp } })), { phase: 'Pending' });
  api.resume();
  await settle();
  assert.deepEqual(api.calls.slice(16), ['PATCH ready Running', 'PATCH deleted', 'PATCH pod-16']);
});

test('a failed write is retried with the newest status after a back-off, and each failure log names the pod', async () => {
  const { api, setStatus, clock, logs } = aManager();
  const pod = api.add(anApiPod());
  api.failure = apiError(503, 'ServiceUnavailable');
  await setStatus(pod, { phase: 'Pending' });
  await setStatus(pod, { phase: 'Running' });
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

test('when the server responds for one pod, pods without a response are retried at once', async () => {
  const { api, setStatus, clock } = aManager();
  api.failure = apiError(0, 'Unreachable');
  const pods = ['a', 'b', 'c'].map((name) => api.add(anApiPod(name)));
  await setStatus(pods[0]!, { phase: 'Pending' });
  await clock.advance(400);
  for (const pod of pods.slice(1)) await setStatus(pod, { phase: 'Pending' });
  api.failure = null;
  await clock.advance(100);
  assert.deepEqual(api.calls.slice(3).toSorted(), ['PATCH a', 'PATCH b', 'PATCH c']);
});

test('no status of a forgotten pod is written', async () => {
  const { api, setStatus, manager, clock } = aManager();
  const pod = api.add(anApiPod());
  await setStatus(pod, { phase: 'Pending' });
  await setStatus(pod, { phase: 'Pending', podIP: '10.0.0.7' });
  manager.forget('uid-web' as PodUID);
  await clock.advance(60_000);
  assert.equal(api.calls.length, 1);
});

test('the status of a pod that is forgotten and added again during a request is written', async () => {
  const { api, setStatus, manager } = aManager();
  const pod = api.add(anApiPod());
  api.paused = true;
  await setStatus(pod, { phase: 'Pending' });
  manager.forget('uid-web' as PodUID);
  await setStatus(pod, { phase: 'Running' });
  api.resume();
  await settle();
  assert.equal(api.pods.get('web')?.status?.phase, 'Running');
});

test('closing aborts requests in flight', async () => {
  const { api, setStatus, manager } = aManager();
  const pod = api.add(anApiPod());
  api.paused = true;
  await setStatus(pod, { phase: 'Running' });
  const closed = manager.close();
  api.resume();
  await closed;
  assert.equal(api.pods.get('web')?.status?.phase, 'Pending');
});

/** A pod that the kubelet has just seen, and a manager that delays first statuses by 500 ms. */
function aNewPod() {
  const made = aManager({ firstStatusDelayMs: 500 });
  const annotations = { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.seen': new Date(made.clock.now()).toISOString() };
  return { ...made, pod: made.api.add(anApiPod('web', { metadata: { annotations } })) };
}

test('a pod that runs within half a second of its arrival gets one status write', async () => {
  const { api, setStatus, clock, pod } = aNewPod();
  await setStatus(pod, { phase: 'Pending' });
  await clock.advance(499);
  await setStatus(pod, { phase: 'Running' });
  await clock.advance(60_000);
  assert.deepEqual(api.calls, ['PATCH web Running']);
});

test('a pod that does not run within half a second of its arrival gets its first status after that time', async () => {
  const { api, setStatus, clock, pod } = aNewPod();
  await clock.advance(200);
  await setStatus(pod, { phase: 'Pending' });
  await clock.advance(299);
  assert.deepEqual(api.calls, []);
  await clock.advance(1);
  assert.deepEqual(api.calls, ['PATCH web']);
});

test('expediting ends the delay of the pending change but not of later ones', async () => {
  const { api, setStatus, clock, manager, pod } = aNewPod();
  await setStatus(pod, { phase: 'Pending' });
  manager.expedite('uid-web' as PodUID);
  await settle();
  assert.equal(api.calls.length, 1);
  manager.expedite('uid-web' as PodUID);
  await setStatus(pod, { phase: 'Pending', podIP: '10.0.0.7' });
  assert.equal(api.calls.length, 1);
  await clock.advance(2000);
  assert.equal(api.calls.length, 2);
});

test('expediting during a request ends the delay of changes that arrived meanwhile', async () => {
  const { api, setStatus, manager } = aManager();
  const pod = api.add(anApiPod());
  api.paused = true;
  await setStatus(pod, { phase: 'Pending' });
  await setStatus(pod, { phase: 'Pending', podIP: '10.0.0.7' });
  manager.expedite('uid-web' as PodUID);
  api.resume();
  await settle();
  assert.equal(api.pods.get('web')?.status?.podIP, '10.0.0.7');
});

const unlimited = new AbortController().signal;

test('waiting for a status ends when the newest one is written', async () => {
  const { api, setStatus, manager } = aManager();
  const pod = api.add(anApiPod());
  assert.equal(manager.whenWritten('uid-web' as PodUID, unlimited), undefined);
  api.paused = true;
  await setStatus(pod, { phase: 'Pending' });
  await setStatus(pod, { phase: 'Running' });
  let isWritten = false;
  void manager.whenWritten('uid-web' as PodUID, unlimited)?.then(() => (isWritten = true));
  await settle();
  assert.equal(isWritten, false);
  api.resume();
  await settle();
  assert.deepEqual([isWritten, api.pods.get('web')?.status?.phase], [true, 'Running']);
  assert.equal(manager.whenWritten('uid-web' as PodUID, unlimited), undefined);
});

test('waiting for a status ends when the pod is gone or forgotten', async () => {
  const { api, setStatus, manager } = aManager();
  const woken: string[] = [];
  const pods = ['gone', 'forgotten'].map((name) => api.add(anApiPod(name)));
  api.paused = true;
  for (const pod of pods) {
    await setStatus(pod, { phase: 'Running' });
    void manager.whenWritten(pod.metadata.uid as PodUID, unlimited)?.then(() => woken.push(pod.metadata.name));
  }
  manager.forget('uid-forgotten' as PodUID);
  api.pods.delete('gone');
  api.resume();
  await settle();
  assert.deepEqual(woken.toSorted(), ['forgotten', 'gone']);
});

test('there is nothing to wait for when no object can receive the status', async () => {
  const { setStatus, manager } = aManager();
  await setStatus(anApiPod(), { phase: 'Running' });
  assert.equal(manager.whenWritten('uid-web' as PodUID, unlimited), undefined);
});

test('an aborted wait for a status does not resolve', async () => {
  const { api, setStatus, manager } = aManager();
  const pod = api.add(anApiPod());
  api.paused = true;
  await setStatus(pod, { phase: 'Running' });
  const wait = new AbortController();
  let isWritten = false;
  void manager.whenWritten('uid-web' as PodUID, wait.signal)?.then(() => (isWritten = true));
  wait.abort();
  api.resume();
  await settle();
  assert.deepEqual([api.calls.length, isWritten], [1, false]);
});

test('a status that changes with the arrival of the mirror pod is written once', async () => {
  const { api, podManager, setStatus } = aManager();
  const annotations = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'h1' };
  const pod = anApiPod('static', { metadata: { annotations } });
  podManager.set(pod);
  await setStatus(pod, { phase: 'Running', podIP: '10.0.0.6' });
  assert.deepEqual(api.calls, []);
  const mirror = anApiPod('static', {
    metadata: { uid: 'uid-mirror', annotations: { ...annotations, 'kubernetes.io/config.mirror': 'h1' } },
  });
  // Registered after the status manager, as the mirror pods are.
  podManager.onChange((changed) => {
    if (changed.metadata.uid === 'uid-mirror') void setStatus(pod, { phase: 'Running', podIP: '10.0.0.7' });
  });
  podManager.set(api.add(mirror));
  await settle();
  assert.deepEqual(
    api.bodies.map((body) => (body as Pod).status?.podIP),
    ['10.0.0.7'],
  );
});
