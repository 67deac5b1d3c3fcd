/** Pods of the API server, from the pod handlers to the status manager: the writes to the API server and their order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatusManager } from '../../../../src/main/pods/status/index.ts';
import { failureReasons } from '../../../../src/shared/contracts/runtime-status.ts';
import type { Pod, PodStatus } from '../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../support/fake-clock.ts';
import { FakeNode } from '../../../support/pods/fake-node.ts';
import { FakePodApi } from '../../../support/api-server/fake-pod-api.ts';
import { aPod, anExitedContainer, aRuntimeContainer, aRuntimePodStatus, aSandbox } from '../../../support/pods/pods.ts';

const uid = 'uid-web' as PodUID;
const deletionTimestamp = '2026-01-01T00:00:30Z';

function anApiPod(fields: Parameters<typeof aPod>[0] = {}): Pod {
  return aPod({
    status: { phase: 'Pending' },
    ...fields,
    metadata: { annotations: { 'kubernetes.io/config.source': 'api' }, ...fields.metadata },
  });
}

async function aNodeWithApi() {
  const node = await FakeNode.start({
    missingFeaturesForUpdate: (_, { spec }) => (spec.activeDeadlineSeconds === 7 ? 'this node cannot' : null),
  });
  const api = new FakePodApi();
  const { podManager, timelines, cache, clock, handlers, runHousekeeping, workers: podWorkers } = node;
  const logger = node.logs.logger;
  const manager = new StatusManager({
    client: api,
    apiPod: api.apiPod,
    podManager,
    firstStatusDelayMs: 0,
    timelines,
    clock,
    logger,
    random: () => 0,
  });
  node.sink = manager;
  const act = async (change: () => void | Promise<void>) => {
    await change();
    await settle();
  };
  return {
    node,
    handlers,
    runHousekeeping,
    api,
    manager,
    add: (pod: Pod) => act(() => handlers.add([api.add(pod)])),
    /** A user deletes the pod, and the watch shows the deletion. */
    delete: (gracePeriodSeconds = 30) =>
      act(() => {
        const metadata = { deletionTimestamp, deletionGracePeriodSeconds: gracePeriodSeconds };
        const pod = api.change('web', { metadata });
        api.syncWatch();
        handlers.update([pod]);
      }),
    update: (pod: Pod) => act(() => handlers.update([pod])),
    /** The watch shows that the object is gone. */
    remove: (pod: Pod) =>
      act(() => {
        api.syncWatch();
        handlers.remove([pod]);
      }),
    reconcile: (pod: Pod) =>
      act(() => {
        api.syncWatch();
        handlers.reconcile([pod]);
      }),
    /** The pleg thread observes this status. */
    observe: async (runtime: ReturnType<typeof aRuntimePodStatus>) => {
      node.runtime.set(uid, runtime);
      await clock.advance(1);
      cache.apply({ statuses: [{ ...runtime, observedAtMs: clock.monotonic() }], removed: [], events: [] });
      podWorkers.refreshStatuses([uid]);
      await settle();
    },
    /** The runtime has this status when the kubelet starts. */
    preload: (runtime: ReturnType<typeof aRuntimePodStatus>) => {
      node.runtime.set(uid, runtime);
      cache.apply({ statuses: [{ ...runtime, observedAtMs: 0 }], removed: [], events: [] });
    },
  };
}

const running = aRuntimePodStatus({ containers: [aRuntimeContainer()] });
const ended = (exitCode: number) =>
  aRuntimePodStatus({ containers: [anExitedContainer(exitCode)], sandboxes: [aSandbox({ state: 'notReady' })], podIPs: [] });

/** Returns the status that an earlier kubelet wrote to the API server. */
async function statusOf(pod: Pod, runtime: ReturnType<typeof aRuntimePodStatus>): Promise<PodStatus> {
  const before = await aNodeWithApi();
  await before.add(pod);
  await before.observe(runtime);
  await before.node.clock.advance(2000);
  return before.api.pods.get('web')!.status!;
}

test('a pod costs two patches and no reads from its creation until it runs', async () => {
  const { node, api, add, observe } = await aNodeWithApi();
  await add(anApiPod());
  assert.deepEqual(api.calls, ['PATCH web']);
  await observe(aRuntimePodStatus());
  await observe(aRuntimePodStatus({ containers: [aRuntimeContainer({ state: 'created' })] }));
  await observe(running);
  await node.completeTask(node.task('sync'));
  await node.clock.advance(5000);
  assert.deepEqual(api.calls, ['PATCH web', 'PATCH web Running']);
  assert.equal(api.pods.get('web')?.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
});

test('a deleted pod gets its final status, then its object is deleted as soon as the pod is cleaned up', async () => {
  const { node, api, add, ...setup } = await aNodeWithApi();
  await add(anApiPod());
  await node.completeTask(node.task('sync'));
  await setup.delete();
  await node.completeTask(node.task('terminating'));
  assert.deepEqual(api.calls.slice(2), ['PATCH web Succeeded']);
  await node.completeTask(node.task('terminated'));
  assert.deepEqual(api.calls.slice(2), ['PATCH web Succeeded', 'DELETE web']);
  await setup.remove(anApiPod());
  await setup.runHousekeeping();
  await node.completeAllTasks();
  assert.deepEqual(node.forgotten, [uid]);
});

test('a second deletion with a shorter grace period shortens the termination in progress', async () => {
  const { node, add, ...setup } = await aNodeWithApi();
  await add(anApiPod());
  await node.completeTask(node.task('sync'));
  await setup.delete(30);
  await setup.delete(2);
  assert.deepEqual(node.task('terminating').graceShrunkTo, [2]);
});

test('a pod that is deleted before it starts becomes Failed, and its object is deleted after its volumes and its cgroup', async () => {
  const { node, api, ...setup } = await aNodeWithApi();
  await setup.add(anApiPod({ metadata: { deletionTimestamp, deletionGracePeriodSeconds: 30 } }));
  assert.deepEqual(node.startedTasks, ['terminated uid-web']);
  assert.deepEqual(api.calls, ['PATCH web Failed']);
  await node.completeAllTasks();
  assert.deepEqual(api.calls, ['PATCH web Failed', 'DELETE web']);
});

test('a pod that was deleted while the kubelet was down is terminated, and its object is deleted', async () => {
  const status = await statusOf(anApiPod(), running);
  const { node, api, ...setup } = await aNodeWithApi();
  setup.preload(running);
  await setup.add(anApiPod({ status, metadata: { deletionTimestamp, deletionGracePeriodSeconds: 7 } }));
  const { task } = node.task('terminating');
  assert.equal(task.kind === 'terminating' && task.gracePeriodSeconds, 7);
  await node.completeAllTasks();
  assert.deepEqual(api.calls, ['PATCH web Succeeded', 'DELETE web']);
});

test('a pod whose object was removed while the kubelet was down is terminated without a write', async () => {
  const { node, api, ...setup } = await aNodeWithApi();
  setup.preload(running);
  await setup.runHousekeeping();
  await node.completeAllTasks();
  assert.deepEqual(node.finished, [uid]);
  assert.deepEqual(api.calls, []);
});

test('a kubelet that starts with a running pod writes nothing', async () => {
  const status = await statusOf(anApiPod({ metadata: { generation: 1 } }), running);
  const { node, api, manager, ...setup } = await aNodeWithApi();
  await node.clock.advance(3_600_000);
  setup.preload(running);
  await setup.add(anApiPod({ status, metadata: { generation: 1 } }));
  await node.completeTask(node.task('sync'));
  manager.syncAll();
  await node.clock.advance(5000);
  assert.deepEqual(api.calls, []);
});

test('a kubelet that starts keeps the waiting reason of a container until it has tried to start the container', async () => {
  const state = { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } };
  const known = await statusOf(anApiPod(), aRuntimePodStatus());
  const status = { ...known, containerStatuses: known.containerStatuses!.map((one) => ({ ...one, state })) };
  const { node, api, ...setup } = await aNodeWithApi();
  setup.preload(aRuntimePodStatus());
  await setup.add(anApiPod({ status }));
  assert.equal(node.statuses.get(uid)?.containerStatuses?.[0]?.state?.waiting?.reason, 'ImagePullBackOff');
  assert.deepEqual(api.calls, []);
});

test('a pod that ended before the kubelet started is not started; its object is deleted when a user deletes the pod', async () => {
  const pod = anApiPod({ spec: { restartPolicy: 'Never' } });
  const status: PodStatus = { phase: 'Failed', reason: 'OutOfpods', startTime: '2026-01-01T00:00:00Z' };
  const { node, api, ...setup } = await aNodeWithApi();
  await setup.add({ ...pod, status });
  await node.completeAllTasks();
  assert.deepEqual(node.startedTasks, ['terminated uid-web']);
  assert.deepEqual(api.calls, []);
  await setup.delete();
  assert.deepEqual(api.calls, ['DELETE web']);
});

test('the final status of a completed pod is written once', async () => {
  const { node, api, ...setup } = await aNodeWithApi();
  await setup.add(anApiPod({ spec: { restartPolicy: 'Never' } }));
  await node.completeTask(node.task('sync'));
  await setup.observe(ended(0));
  assert.equal(node.phase('uid-web'), 'Succeeded');
  assert.equal(api.calls.length, 2);
  node.workers.wake([uid]);
  await settle();
  await node.completeTask(node.task('terminating'));
  await node.completeAllTasks();
  await node.clock.advance(5000);
  assert.deepEqual(api.calls, ['PATCH web', 'PATCH web Running', 'PATCH web Succeeded']);
});

test('the object of a rejected pod is deleted when a user deletes the pod', async () => {
  const setup = await aNodeWithApi();
  const { node, api } = setup;
  node.rejection = { reason: 'OutOfcpu', message: 'no room' };
  await setup.add(anApiPod());
  assert.deepEqual(api.calls, ['PATCH web Failed']);
  await setup.delete();
  await node.completeAllTasks();
  assert.deepEqual(api.calls, ['PATCH web Failed', 'DELETE web']);
});

test('a readiness gate that another controller sets makes the pod ready without a sync', async () => {
  const gate = 'example.com/gate';
  const { node, api, ...setup } = await aNodeWithApi();
  await setup.add(anApiPod({ spec: { readinessGates: [{ conditionType: gate }] } }));
  await node.completeTask(node.task('sync'));
  const readiness = () => api.pods.get('web')?.status?.conditions?.find(({ type }) => type === 'Ready');
  assert.equal(readiness()?.reason, 'ReadinessGatesNotReady');
  const conditions = [...api.pods.get('web')!.status!.conditions!, { type: gate, status: 'True' }];
  await setup.reconcile(api.change('web', { status: { conditions } }));
  assert.equal(readiness()?.status, 'True');
  assert.equal(node.startedTasks.length, 1);
});

test('the status has a reason while the runtime does not return the status of a container', async () => {
  const { node, api, ...setup } = await aNodeWithApi();
  await setup.add(anApiPod());
  await node.completeTask(node.task('sync'));
  const failure = { reason: failureReasons.container, message: 'status of container app (container-0): no answer for 2000 ms' };
  const reported = () => [api.pods.get('web')!.status!.reason, api.pods.get('web')!.status!.message];
  await setup.observe({ ...running, failure });
  assert.deepEqual(reported(), [failure.reason, failure.message]);
  await setup.reconcile(api.pods.get('web')!);
  await setup.observe(running);
  assert.deepEqual(reported(), [undefined, undefined]);
});

test('a running pod whose phase is set to Failed by another client is terminated and stays not ready', async () => {
  const { node, api, manager, ...setup } = await aNodeWithApi();
  await setup.add(anApiPod());
  await node.completeTask(node.task('sync'));
  const conditions = api.pods.get('web')!.status!.conditions!.map((one) => (one.type === 'Ready' ? { ...one, status: 'False' } : one));
  const failed = api.change('web', { status: { phase: 'Failed', reason: 'NodeLost', conditions } });
  const readiness = () => api.pods.get('web')!.status!.conditions!.find(({ type }) => type === 'Ready')!.status;
  api.syncWatch();
  manager.syncAll();
  await settle();
  assert.equal(readiness(), 'False');
  await setup.reconcile(failed);
  assert.deepEqual(node.startedTasks, ['sync uid-web', 'terminating uid-web']);
  await node.completeAllTasks();
  const { phase, reason } = api.pods.get('web')!.status!;
  assert.deepEqual([phase, reason, readiness()], ['Failed', 'NodeLost', 'False']);
});

test('a pod that exceeds its active deadline becomes Failed when none of its containers runs', async () => {
  const { node, api, ...setup } = await aNodeWithApi();
  await setup.add(anApiPod({ spec: { activeDeadlineSeconds: 60, restartPolicy: 'Always' } }));
  await node.completeTask(node.task('sync'));
  await node.clock.advance(59_000);
  assert.equal(node.tasks.length, 0);
  await node.clock.advance(1000);
  assert.deepEqual(
    node.events.map(({ type, reason }) => [type, reason]),
    [['Normal', 'DeadlineExceeded']],
  );
  assert.equal(api.pods.get('web')?.status?.phase, 'Running');
  await node.completeAllTasks();
  const { phase, reason, message } = api.pods.get('web')!.status!;
  assert.deepEqual([phase, reason], ['Failed', 'DeadlineExceeded']);
  assert.equal(message, 'Pod was active on the node longer than the specified deadline');
});

test('a pod whose deadline expired while the kubelet was down is not synced', async () => {
  const { node, api, ...setup } = await aNodeWithApi();
  const status: PodStatus = { phase: 'Running', startTime: '2025-12-31T23:00:00Z' };
  setup.preload(running);
  await setup.add(anApiPod({ status, spec: { activeDeadlineSeconds: 60 } }));
  assert.deepEqual(node.startedTasks, ['terminating uid-web']);
  await node.completeAllTasks();
  assert.equal(api.pods.get('web')?.status?.reason, 'DeadlineExceeded');
});

test('an evicted pod becomes Failed with a disruption condition when none of its containers runs', async () => {
  const { node, api, ...setup } = await aNodeWithApi();
  await setup.add(anApiPod());
  await node.completeTask(node.task('sync'));
  const disruption = { reason: 'TerminationByKubelet', message: 'The node was low on resource: memory.' };
  const failed = { reason: 'Evicted', message: 'The node was low on resource: memory.', disruption };
  const killed = node.workers.kill(uid, { evicted: true, gracePeriodOverrideSeconds: 1, failed });
  await settle();
  assert.equal(api.pods.get('web')?.status?.phase, 'Running');
  await node.completeAllTasks();
  await killed;
  const { phase, reason, conditions } = api.pods.get('web')!.status!;
  assert.deepEqual([phase, reason], ['Failed', 'Evicted']);
  assert.equal(conditions?.find(({ type }) => type === 'DisruptionTarget')?.reason, 'TerminationByKubelet');
});

test('a mirror pod does not run', async () => {
  const { node, ...setup } = await aNodeWithApi();
  await setup.add(anApiPod({ metadata: { annotations: { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': 'h' } } }));
  await setup.runHousekeeping();
  assert.deepEqual(node.startedTasks, []);
});

test('a change that the node cannot apply is recorded as an event, and the pod continues', async () => {
  const setup = await aNodeWithApi();
  const pod = anApiPod();
  await setup.add(pod);
  await setup.observe(running);
  await setup.update({ ...pod, spec: { ...pod.spec, activeDeadlineSeconds: 7 } });
  const reported = setup.node.events.filter(({ reason }) => reason === 'FailedNodeDeclaredFeaturesCheck');
  assert.deepEqual(
    reported.map(({ message }) => message),
    ['this node cannot'],
  );
  assert.ok(!setup.node.podStates.isTerminationRequested(uid));
});
