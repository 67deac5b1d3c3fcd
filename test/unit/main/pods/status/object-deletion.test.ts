/** When the status manager deletes the object of a terminated pod. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodTimelines } from '../../../../../src/main/timeline/index.ts';
import { podUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { timelineTable } from '../../../../../src/shared/timeline/timeline-table.ts';
import { apiError } from '../../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';
import { aManager, anApiPod, deletionTimestamp, startTime } from '../../../../support/pods/status-manager.ts';

test('a terminal phase is written when nothing runs, and the object is deleted when nothing is left', async () => {
  const { api, setStatus, syncWatch } = aManager();
  const pod = api.add(anApiPod('web', { status: { phase: 'Running', startTime } }));
  api.change('web', { metadata: { deletionTimestamp } });
  await syncWatch();
  await setStatus(pod, { phase: 'Failed' });
  assert.deepEqual(api.calls, []);
  await setStatus(pod, { phase: 'Failed' }, { couldHaveRunningContainers: false });
  assert.deepEqual(api.calls, ['PATCH web Failed']);
  await setStatus(pod, { phase: 'Failed' }, { couldHaveRunningContainers: false, isFinished: true });
  assert.deepEqual(api.calls, ['PATCH web Failed', 'DELETE web']);
  const { gracePeriodSeconds, preconditions } = api.bodies.at(-1) as Record<string, unknown>;
  assert.deepEqual([gracePeriodSeconds, preconditions], [0, { uid: 'uid-web' }]);
});

test('a pod that is deleted after it finished is removed as soon as the deletion is observed', async () => {
  const { api, setStatus, syncWatch } = aManager();
  const pod = api.add(anApiPod());
  await setStatus(pod, { phase: 'Succeeded' }, { couldHaveRunningContainers: false, isFinished: true });
  assert.deepEqual(api.calls, ['PATCH web Succeeded']);
  api.change('web', { metadata: { deletionTimestamp } });
  await syncWatch();
  assert.deepEqual(api.calls, ['PATCH web Succeeded', 'DELETE web']);
});

test('an object with finalizers is deleted once', async () => {
  const { api, setStatus, syncWatch, manager } = aManager();
  const pod = api.add(anApiPod('web', { metadata: { deletionTimestamp, finalizers: ['example.com/hold'] } }));
  await setStatus(pod, { phase: 'Failed' }, { couldHaveRunningContainers: false, isFinished: true });
  await syncWatch();
  manager.syncAll();
  await settle();
  assert.deepEqual(api.calls, ['PATCH web Failed', 'DELETE web']);
});

test('a failed deletion is retried without another status patch', async () => {
  const { api, setStatus, clock } = aManager();
  const pod = api.add(anApiPod('web', { metadata: { deletionTimestamp }, status: { phase: 'Failed', startTime } }));
  api.failure = apiError(500, 'InternalError');
  await setStatus(pod, { phase: 'Failed' }, { couldHaveRunningContainers: false, isFinished: true });
  api.failure = null;
  await clock.advance(500);
  assert.deepEqual(api.calls, ['DELETE web', 'DELETE web']);
});

test('a deleted object that reappears after a restore is deleted again', async () => {
  const { api, setStatus, manager } = aManager();
  const pod = api.add(anApiPod('web', { metadata: { deletionTimestamp }, status: { phase: 'Failed', startTime } }));
  await setStatus(pod, { phase: 'Failed' }, { couldHaveRunningContainers: false, isFinished: true });
  api.restore([pod]);
  manager.onListed();
  manager.syncAll();
  await settle();
  assert.deepEqual(api.calls, ['DELETE web', 'DELETE web']);
  assert.equal(api.pods.size, 0);
});

test('a status whose pod is gone from the server does not wait for the server any more', async () => {
  const timelines = new PodTimelines({ buffer: timelineTable.create(1), clock: new FakeClock(), logger: aLogger().logger });
  const { api, setStatus } = aManager({ timelines });
  const pod = api.add(anApiPod());
  timelines.see(pod, false);
  api.failure = apiError(404, 'NotFound');
  await setStatus(pod, { phase: 'Failed' }, { couldHaveRunningContainers: false });
  assert.deepEqual(api.calls, ['PATCH web Failed']);
  assert.equal(timelines.isOpen(podUID(pod), 'StatusWrite'), false);
});
