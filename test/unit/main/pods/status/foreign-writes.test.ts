/** Other clients write, end, delete or recreate pods while the kubelet writes their statuses. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '../../../../support/fake-clock.ts';
import { aManager, anApiPod, startTime } from '../../../../support/pods/status-manager.ts';

test('a terminal phase from another writer causes a conflict and is kept', async () => {
  const { api, setStatus } = aManager();
  const pod = api.add(anApiPod());
  api.change('web', { status: { phase: 'Failed', reason: 'NodeLost' } });
  await setStatus(pod, { phase: 'Running', podIP: '10.0.0.7' });
  assert.deepEqual(api.calls, ['PATCH web Running', 'GET web', 'PATCH web']);
  const { status } = api.pods.get('web')!;
  assert.deepEqual([status?.phase, status?.reason, status?.podIP], ['Failed', 'NodeLost', '10.0.0.7']);
});

test('conditions from another writer are kept without a conflict', async () => {
  const { api, setStatus } = aManager();
  const pod = api.add(anApiPod('web', { status: { phase: 'Running', startTime } }));
  api.change('web', { status: { conditions: [{ type: 'example.com/gate', status: 'True' }] } });
  await setStatus(pod, { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] });
  assert.deepEqual(api.calls, ['PATCH web']);
  assert.deepEqual(
    api.pods.get('web')?.status?.conditions?.map(({ type }) => type),
    ['example.com/gate', 'Ready'],
  );
});

test('a recreated pod of the same name does not get the old pod’s status', async () => {
  const { api, setStatus, manager } = aManager();
  const pod = api.add(anApiPod());
  api.put(anApiPod('web', { metadata: { uid: 'uid-new' } }));
  await setStatus(pod, { phase: 'Running' });
  await setStatus(pod, { phase: 'Failed' }, { couldHaveRunningContainers: false });
  assert.deepEqual(api.calls, ['PATCH web Running', 'GET web']);
  assert.equal(api.pods.get('web')?.status?.phase, 'Pending');
  api.syncWatch();
  manager.syncAll();
  await settle();
  assert.equal(api.calls.length, 2);
});

test('a pod that the server no longer has is not written again', async () => {
  const { api, setStatus, clock } = aManager();
  const pod = api.add(anApiPod());
  api.pods.clear();
  await setStatus(pod, { phase: 'Running' });
  await setStatus(pod, { phase: 'Failed' });
  await clock.advance(60_000);
  assert.deepEqual(api.calls, ['PATCH web Running']);
});

test('the periodic sync corrects a status that another client overwrote', async () => {
  const { api, setStatus, syncWatch, clock, manager } = aManager();
  const pod = api.add(anApiPod());
  await setStatus(pod, { phase: 'Running', podIP: '10.0.0.7' });
  api.change('web', { status: { podIP: '10.9.9.9' } });
  await syncWatch();
  assert.equal(api.calls.length, 1);
  const stop = new AbortController();
  const running = manager.run(stop.signal);
  await clock.advance(10_000);
  assert.equal(api.pods.get('web')?.status?.podIP, '10.0.0.7');
  stop.abort();
  await running;
});

test('a field that the server ignores is not sent repeatedly', async () => {
  const { api, setStatus, syncWatch, manager } = aManager();
  api.ignoredFields = ['ephemeralContainerStatuses'];
  const pod = api.add(anApiPod());
  const ephemeralContainerStatuses = [{ name: 'debug', image: 'x', imageID: '', ready: false, restartCount: 0 }];
  await setStatus(pod, { phase: 'Running', ephemeralContainerStatuses });
  for (let round = 0; round < 3; round += 1) {
    await syncWatch();
    manager.syncAll();
    await settle();
  }
  assert.equal(api.calls.length, 1);
});

test('after the cluster is restored from a backup, statuses are compared with the restored objects', async () => {
  const { api, setStatus, manager } = aManager();
  const pod = api.add(anApiPod());
  await setStatus(pod, { phase: 'Running', podIP: '10.0.0.7' });
  api.restore([pod]);
  manager.onListed();
  manager.syncAll();
  await settle();
  assert.deepEqual(api.calls, ['PATCH web Running', 'PATCH web Running']);
  assert.equal(api.pods.get('web')?.status?.podIP, '10.0.0.7');
});

/** Its answers have only the metadata. */
const aLargePod = () => anApiPod('web', { metadata: { annotations: { large: 'x'.repeat(200_000) } } });

test('of a large pod, a field that the server ignores is sent a second time, and then no more', async () => {
  const { api, setStatus, syncWatch, manager } = aManager();
  api.ignoredFields = ['ephemeralContainerStatuses'];
  const pod = api.add(aLargePod());
  const ephemeralContainerStatuses = [{ name: 'debug', image: 'x', imageID: '', ready: false, restartCount: 0 }];
  await setStatus(pod, { phase: 'Running', ephemeralContainerStatuses });
  for (let round = 0; round < 4; round += 1) {
    await syncWatch();
    manager.syncAll();
    await settle();
  }
  assert.equal(api.calls.length, 2);
});

test('the next status of a large pod is a patch of the one before, with the conditions and addresses of the server', async () => {
  const { api, setStatus, manager } = aManager();
  const pod = api.add(aLargePod());
  api.change('web', { status: { hostIP: '10.9.0.9', conditions: [{ type: 'example.com/gate', status: 'True' }] } });
  api.syncWatch();
  await setStatus(pod, { phase: 'Running', podIP: '10.0.0.7', conditions: [{ type: 'Ready', status: 'True' }] });
  await setStatus(pod, { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] });
  manager.syncAll();
  await settle();
  assert.equal(api.calls.length, 2);
  const [, second] = api.bodies as { status: object }[];
  assert.deepEqual(Object.keys(second!.status).sort(), ['conditions', 'podIP']);
  const { status } = api.pods.get('web')!;
  assert.deepEqual([status?.hostIP, status?.podIP], ['10.9.0.9', undefined]);
  assert.deepEqual(
    status?.conditions?.map((condition) => [condition.type, condition.status]),
    [
      ['example.com/gate', 'True'],
      ['Ready', 'False'],
    ],
  );
});
