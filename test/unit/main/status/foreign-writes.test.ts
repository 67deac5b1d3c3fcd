/** Pods that somebody else writes, ends, deletes or brings back while the kubelet tells their status. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '../../../support/fake-clock.ts';
import { aManager, anApiPod, startTime } from '../../../support/status-manager.ts';

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
  await say(pod, { phase: 'Failed' }, { couldHaveRunningContainers: false });
  assert.deepEqual(api.calls, ['PATCH web Running', 'GET web']);
  assert.equal(api.pods.get('web')?.status?.phase, 'Pending');
  api.syncWatch();
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
  api.ignoredFields = ['ephemeralContainerStatuses'];
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
