/** Pods of the API server, through pod handlers, workers, statuses and the status manager: what of them is written, and when. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { StatusManager } from '../../../../src/main/status/index.ts';
import { failureReasons } from '../../../../src/shared/contracts/runtime-status.ts';
import type { Pod, PodStatus } from '../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../support/fake-clock.ts';
import { FakeNode } from '../../../support/fake-node.ts';
import { FakePodApi } from '../../../support/fake-pod-api.ts';
import { aNodeWithHandlers } from '../../../support/node-with-handlers.ts';
import { aPod, anExitedContainer, aRuntimeContainer, aRuntimePodStatus, aSandbox } from '../../../support/pods.ts';

const uid = 'uid-web' as PodUID;
const deletionTimestamp = '2026-01-01T00:00:30Z';

function anApiPod(fields: Parameters<typeof aPod>[0] = {}): Pod {
  return aPod({
    status: { phase: 'Pending' },
    ...fields,
    metadata: { annotations: { 'kubernetes.io/config.source': 'api' }, ...fields.metadata },
  });
}

function aMember() {
  const node = new FakeNode();
  const api = new FakePodApi();
  const { podManager, cache, clock, workers: podWorkers } = node;
  const logger = node.logs.logger;
  const manager = new StatusManager({ client: api, apiPod: api.apiPod, podManager, clock, logger, random: () => 0 });
  node.sink = manager;
  const setup = aNodeWithHandlers(node, {
    missingFeaturesForUpdate: (_, { spec }) => (spec.activeDeadlineSeconds === 7 ? 'this node cannot' : null),
  });
  const { handlers } = setup;
  const act = async (change: () => void | Promise<void>) => {
    await change();
    await settle();
  };
  return Object.assign(setup, {
    api,
    manager,
    add: (pod: Pod) => act(() => handlers.add([api.add(pod)])),
    /** The user deletes it, and the watch shows it. */
    delete: (gracePeriodSeconds = 30) =>
      act(() => {
        const metadata = { deletionTimestamp, deletionGracePeriodSeconds: gracePeriodSeconds };
        const pod = api.change('web', { metadata });
        api.syncWatch();
        handlers.update([pod]);
      }),
    changed: (pod: Pod) => act(() => handlers.update([pod])),
    /** The watch shows that it is gone. */
    gone: (pod: Pod) =>
      act(() => {
        api.syncWatch();
        handlers.remove([pod]);
      }),
    reconcile: (pod: Pod) =>
      act(() => {
        api.syncWatch();
        handlers.reconcile([pod]);
      }),
    /** What the pleg thread sees in the runtime now. */
    see: async (runtime: ReturnType<typeof aRuntimePodStatus>) => {
      node.runtime.set(uid, runtime);
      await clock.advance(1);
      cache.apply({ statuses: [{ ...runtime, observedAtMs: clock.monotonic() }], gone: [], events: [] });
      podWorkers.refreshStatuses([uid]);
      await settle();
    },
    /** The runtime had this before the kubelet started. */
    find: (runtime: ReturnType<typeof aRuntimePodStatus>) => {
      node.runtime.set(uid, runtime);
      cache.apply({ statuses: [{ ...runtime, observedAtMs: 0 }], gone: [], events: [] });
    },
  });
}

const running = aRuntimePodStatus({ containers: [aRuntimeContainer()] });
const ended = (exitCode: number) =>
  aRuntimePodStatus({ containers: [anExitedContainer(exitCode)], sandboxes: [aSandbox({ state: 'notReady' })], podIPs: [] });

/** As a kubelet has left it in the API server. */
async function statusOf(pod: Pod, runtime: ReturnType<typeof aRuntimePodStatus>): Promise<PodStatus> {
  const before = aMember();
  await before.add(pod);
  await before.see(runtime);
  await before.node.clock.advance(2000);
  return before.api.pods.get('web')!.status!;
}

test('a pod from its creation until it runs costs two patches, and nothing is read', async () => {
  const { node, api, add, see } = aMember();
  await add(anApiPod());
  assert.deepEqual(api.calls, ['PATCH web']);
  await see(aRuntimePodStatus());
  await see(aRuntimePodStatus({ containers: [aRuntimeContainer({ state: 'created' })] }));
  await see(running);
  await node.completeTask(node.task('sync'));
  await node.clock.advance(5000);
  assert.deepEqual(api.calls, ['PATCH web', 'PATCH web Running']);
  assert.equal(api.pods.get('web')?.status?.conditions?.find(({ type }) => type === 'Ready')?.status, 'True');
});

test('a deleted pod’s end is told first, then its object goes, at once when nothing is left', async () => {
  const { node, api, add, ...member } = aMember();
  await add(anApiPod());
  await node.completeTask(node.task('sync'));
  await member.delete();
  await node.completeTask(node.task('terminating'));
  assert.deepEqual(api.calls.slice(2), ['PATCH web Succeeded']);
  await node.completeTask(node.task('terminated'));
  assert.deepEqual(api.calls.slice(2), ['PATCH web Succeeded', 'DELETE web']);
  await member.gone(anApiPod());
  await member.runHousekeeping();
  await node.completeAllTasks();
  assert.deepEqual(node.forgotten, [uid]);
});

test('a second delete with less grace reaches the termination under way', async () => {
  const { node, add, ...member } = aMember();
  await add(anApiPod());
  await node.completeTask(node.task('sync'));
  await member.delete(30);
  await member.delete(2);
  assert.deepEqual(node.task('terminating').graceShrunkTo, [2]);
});

test('a pod that is deleted before it has started ends as Failed, and goes when its volumes and its cgroup have', async () => {
  const { node, api, ...member } = aMember();
  await member.add(anApiPod({ metadata: { deletionTimestamp, deletionGracePeriodSeconds: 30 } }));
  assert.deepEqual(node.startedTasks, ['terminated uid-web']);
  assert.deepEqual(api.calls, ['PATCH web Failed']);
  await node.completeAllTasks();
  assert.deepEqual(api.calls, ['PATCH web Failed', 'DELETE web']);
});

test('a pod that was deleted while the kubelet was down is ended and goes', async () => {
  const status = await statusOf(anApiPod(), running);
  const { node, api, ...member } = aMember();
  member.find(running);
  await member.add(anApiPod({ status, metadata: { deletionTimestamp, deletionGracePeriodSeconds: 7 } }));
  const { task } = node.task('terminating');
  assert.equal(task.kind === 'terminating' && task.gracePeriodSeconds, 7);
  await node.completeAllTasks();
  assert.deepEqual(api.calls, ['PATCH web Succeeded', 'DELETE web']);
});

test('a pod whose object was removed while the kubelet was down is ended all the same, and nothing is written', async () => {
  const { node, api, ...member } = aMember();
  member.find(running);
  await member.runHousekeeping();
  await node.completeAllTasks();
  assert.deepEqual(node.finished, [uid]);
  assert.deepEqual(api.calls, []);
});

test('a kubelet that starts on a pod that runs writes nothing', async () => {
  const status = await statusOf(anApiPod({ metadata: { generation: 1 } }), running);
  const { node, api, manager, ...member } = aMember();
  await node.clock.advance(3_600_000);
  member.find(running);
  await member.add(anApiPod({ status, metadata: { generation: 1 } }));
  await node.completeTask(node.task('sync'));
  manager.syncAll();
  await node.clock.advance(5000);
  assert.deepEqual(api.calls, []);
});

test('a kubelet that starts takes no waiting reason back before it has tried', async () => {
  const state = { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } };
  const known = await statusOf(anApiPod(), aRuntimePodStatus());
  const status = { ...known, containerStatuses: known.containerStatuses!.map((one) => ({ ...one, state })) };
  const { node, api, ...member } = aMember();
  member.find(aRuntimePodStatus());
  await member.add(anApiPod({ status }));
  assert.equal(node.statuses.get(uid)?.containerStatuses?.[0]?.state?.waiting?.reason, 'ImagePullBackOff');
  assert.deepEqual(api.calls, []);
});

test('a pod that has ended before the kubelet started is not started, nothing is written, and it goes when it is deleted', async () => {
  const pod = anApiPod({ spec: { restartPolicy: 'Never' } });
  const status: PodStatus = { phase: 'Failed', reason: 'OutOfpods', startTime: '2026-01-01T00:00:00Z' };
  const { node, api, ...member } = aMember();
  await member.add({ ...pod, status });
  await node.completeAllTasks();
  assert.deepEqual(node.startedTasks, ['terminated uid-web']);
  assert.deepEqual(api.calls, []);
  await member.delete();
  assert.deepEqual(api.calls, ['DELETE web']);
});

test('a pod that runs to its end is told of once, when it has ended', async () => {
  const { node, api, ...member } = aMember();
  await member.add(anApiPod({ spec: { restartPolicy: 'Never' } }));
  await node.completeTask(node.task('sync'));
  await member.see(ended(0));
  assert.equal(node.phase('uid-web'), 'Succeeded');
  assert.equal(api.calls.length, 2);
  node.workers.wake([uid]);
  await settle();
  await node.completeTask(node.task('terminating'));
  await node.completeAllTasks();
  await node.clock.advance(5000);
  assert.deepEqual(api.calls, ['PATCH web', 'PATCH web Running', 'PATCH web Succeeded']);
});

test('a pod that was rejected and then deleted goes', async () => {
  const member = aMember();
  const { node, api } = member;
  member.rejection = { reason: 'OutOfcpu', message: 'no room' };
  await member.add(anApiPod());
  assert.deepEqual(api.calls, ['PATCH web Failed']);
  await member.delete();
  await node.completeAllTasks();
  assert.deepEqual(api.calls, ['PATCH web Failed', 'DELETE web']);
});

test('a readiness gate that others open makes the pod ready without a sync', async () => {
  const gate = 'example.com/gate';
  const { node, api, ...member } = aMember();
  await member.add(anApiPod({ spec: { readinessGates: [{ conditionType: gate }] } }));
  await node.completeTask(node.task('sync'));
  const readiness = () => api.pods.get('web')?.status?.conditions?.find(({ type }) => type === 'Ready');
  assert.equal(readiness()?.reason, 'ReadinessGatesNotReady');
  const conditions = [...api.pods.get('web')!.status!.conditions!, { type: gate, status: 'True' }];
  await member.reconcile(api.change('web', { status: { conditions } }));
  assert.equal(readiness()?.status, 'True');
  assert.equal(node.startedTasks.length, 1);
});

test('that the runtime does not answer about a pod is told while it is so, and taken back', async () => {
  const { node, api, ...member } = aMember();
  await member.add(anApiPod());
  await node.completeTask(node.task('sync'));
  const failure = { reason: failureReasons.container, message: 'status of container app (container-0): no answer for 2000 ms' };
  const told = () => [api.pods.get('web')!.status!.reason, api.pods.get('web')!.status!.message];
  await member.see({ ...running, failure });
  assert.deepEqual(told(), [failure.reason, failure.message]);
  await member.reconcile(api.pods.get('web')!);
  await member.see(running);
  assert.deepEqual(told(), [undefined, undefined]);
});

test('a pod that somebody has called failed while it runs ends at once, and is not called ready again', async () => {
  const { node, api, manager, ...member } = aMember();
  await member.add(anApiPod());
  await node.completeTask(node.task('sync'));
  const conditions = api.pods.get('web')!.status!.conditions!.map((one) => (one.type === 'Ready' ? { ...one, status: 'False' } : one));
  const failed = api.change('web', { status: { phase: 'Failed', reason: 'NodeLost', conditions } });
  const readiness = () => api.pods.get('web')!.status!.conditions!.find(({ type }) => type === 'Ready')!.status;
  api.syncWatch();
  manager.syncAll();
  await settle();
  assert.equal(readiness(), 'False');
  await member.reconcile(failed);
  assert.deepEqual(node.startedTasks, ['sync uid-web', 'terminating uid-web']);
  await node.completeAllTasks();
  const { phase, reason } = api.pods.get('web')!.status!;
  assert.deepEqual([phase, reason, readiness()], ['Failed', 'NodeLost', 'False']);
});

test('a pod that has been active for longer than its deadline fails by it when nothing runs any more', async () => {
  const { node, api, ...member } = aMember();
  await member.add(anApiPod({ spec: { activeDeadlineSeconds: 60, restartPolicy: 'Always' } }));
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

test('a pod whose deadline has passed while the kubelet was down is not synced again', async () => {
  const { node, api, ...member } = aMember();
  const status: PodStatus = { phase: 'Running', startTime: '2025-12-31T23:00:00Z' };
  member.find(running);
  await member.add(anApiPod({ status, spec: { activeDeadlineSeconds: 60 } }));
  assert.deepEqual(node.startedTasks, ['terminating uid-web']);
  await node.completeAllTasks();
  assert.equal(api.pods.get('web')?.status?.reason, 'DeadlineExceeded');
});

test('an evicted pod says so when nothing of it runs any more, with its disruption', async () => {
  const { node, api, ...member } = aMember();
  await member.add(anApiPod());
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

test('a mirror pod is not run', async () => {
  const { node, ...member } = aMember();
  await member.add(anApiPod({ metadata: { annotations: { 'kubernetes.io/config.source': 'api', 'kubernetes.io/config.mirror': 'h' } } }));
  await member.runHousekeeping();
  assert.deepEqual(node.startedTasks, []);
});

test('a change that the node cannot follow is told, and the pod goes on', async () => {
  const member = aMember();
  const pod = anApiPod();
  await member.add(pod);
  await member.see(running);
  await member.changed({ ...pod, spec: { ...pod.spec, activeDeadlineSeconds: 7 } });
  const told = member.node.events.filter(({ reason }) => reason === 'FailedNodeDeclaredFeaturesCheck');
  assert.deepEqual(
    told.map(({ message }) => message),
    ['this node cannot'],
  );
  assert.ok(!member.node.workers.isTerminationRequested(uid));
});
