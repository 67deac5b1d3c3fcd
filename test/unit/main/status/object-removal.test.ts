/** When the object of a pod that was deleted goes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiError } from '../../../support/fake-api.ts';
import { settle } from '../../../support/fake-clock.ts';
import { aManager, anApiPod, deletionTimestamp, startTime } from '../../../support/status-manager.ts';

test('a terminal phase is told when nothing runs any more, and the object goes when nothing is left', async () => {
  const { api, say, show } = aManager();
  const pod = api.add(anApiPod('web', { status: { phase: 'Running', startTime } }));
  api.change('web', { metadata: { deletionTimestamp } });
  await show();
  await say(pod, { phase: 'Failed' });
  assert.deepEqual(api.calls, []);
  await say(pod, { phase: 'Failed' }, { couldHaveRunningContainers: false });
  assert.deepEqual(api.calls, ['PATCH web Failed']);
  await say(pod, { phase: 'Failed' }, { couldHaveRunningContainers: false, isFinished: true });
  assert.deepEqual(api.calls, ['PATCH web Failed', 'DELETE web']);
  const { gracePeriodSeconds, preconditions } = api.bodies.at(-1) as Record<string, unknown>;
  assert.deepEqual([gracePeriodSeconds, preconditions], [0, { uid: 'uid-web' }]);
});

test('a pod that is deleted after it has ended goes as soon as the deletion is seen', async () => {
  const { api, say, show } = aManager();
  const pod = api.add(anApiPod());
  await say(pod, { phase: 'Succeeded' }, { couldHaveRunningContainers: false, isFinished: true });
  assert.deepEqual(api.calls, ['PATCH web Succeeded']);
  api.change('web', { metadata: { deletionTimestamp } });
  await show();
  assert.deepEqual(api.calls, ['PATCH web Succeeded', 'DELETE web']);
});

test('an object that finalizers hold is deleted once', async () => {
  const { api, say, show, manager } = aManager();
  const pod = api.add(anApiPod('web', { metadata: { deletionTimestamp, finalizers: ['example.com/hold'] } }));
  await say(pod, { phase: 'Failed' }, { couldHaveRunningContainers: false, isFinished: true });
  await show();
  manager.sweep();
  await settle();
  assert.deepEqual(api.calls, ['PATCH web Failed', 'DELETE web']);
});

test('a deletion that fails is tried again, without the status', async () => {
  const { api, say, clock } = aManager();
  const pod = api.add(anApiPod('web', { metadata: { deletionTimestamp }, status: { phase: 'Failed', startTime } }));
  api.failure = apiError(500, 'InternalError');
  await say(pod, { phase: 'Failed' }, { couldHaveRunningContainers: false, isFinished: true });
  api.failure = null;
  await clock.advance(500);
  assert.deepEqual(api.calls, ['DELETE web', 'DELETE web']);
});

test('an object that a restored cluster has again, although it was deleted, is deleted there too', async () => {
  const { api, say, manager } = aManager();
  const pod = api.add(anApiPod('web', { metadata: { deletionTimestamp }, status: { phase: 'Failed', startTime } }));
  await say(pod, { phase: 'Failed' }, { couldHaveRunningContainers: false, isFinished: true });
  api.restore([pod]);
  manager.onListed();
  manager.sweep();
  await settle();
  assert.deepEqual(api.calls, ['DELETE web', 'DELETE web']);
  assert.equal(api.pods.size, 0);
});
