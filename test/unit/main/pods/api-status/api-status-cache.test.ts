import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ApiStatusCache, type StatusUpdate } from '../../../../../src/main/pods/api-status/api-status-cache.ts';
import type { Pod, PodStatus } from '../../../../../src/shared/kubernetes/api.ts';
import type { ContainerID, PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';
import { anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods.ts';

const uid = 'uid-web' as PodUID;
const syncing = { state: 'syncing', started: true } as const;
const terminated = { state: 'terminated', finished: true, deleted: true, evicted: false, restartRequested: false } as const;

function aKeeper({ mirror, ...features }: { mirror?: Pod; restartAllContainers?: boolean } = {}) {
  const told: StatusUpdate[] = [];
  const logs = aLogger();
  const statuses = new ApiStatusCache({
    node: () => ({ hostIPs: ['192.0.2.1'], runtimeName: 'containerd' }),
    mirrorOf: () => mirror,
    sink: { set: (update) => void told.push(update), expedite: () => {}, forget: () => {} },
    features,
    clock: new FakeClock(),
    logger: logs.logger,
  });
  return { statuses, told, logs };
}

const running = aRuntimePodStatus({ containers: [aRuntimeContainer()] });
const anApiPod = (fields: Parameters<typeof aPod>[0] = {}) =>
  aPod({ ...fields, metadata: { annotations: { 'kubernetes.io/config.source': 'api' }, ...fields.metadata } });

test('a change is handed on once, with whether something may still run', () => {
  const { statuses, told } = aKeeper();
  statuses.regenerate(aPod(), running, syncing);
  statuses.regenerate(aPod(), running, syncing);
  assert.deepEqual(
    told.map(({ status, couldHaveRunningContainers: mayRun, isFinished }) => [status.phase, mayRun, isFinished]),
    [['Running', true, false]],
  );
});

test('a pod that was never started has nothing that may run, if the runtime has nothing', () => {
  const { statuses, told } = aKeeper();
  statuses.regenerate(aPod(), null, { state: 'syncing', started: false });
  assert.equal(told[0]?.couldHaveRunningContainers, false);
});

test('a status that would bring a container back to life is not kept', () => {
  const { statuses, logs } = aKeeper();
  const pod = anApiPod({ spec: { restartPolicy: 'Never' } });
  const before = statuses.regenerate(pod, aRuntimePodStatus({ containers: [anExitedContainer(1)] }), syncing);
  assert.equal(statuses.regenerate(pod, running, syncing), before);
  assert.equal(logs.lines.at(-1)?.msg, 'Status update on pod aborted');
});

test('a pod of which nothing is left ends in a final phase, whatever was seen of it', () => {
  const { statuses, told } = aKeeper();
  statuses.markFinished(
    anApiPod({ spec: { initContainers: [{ name: 'prepare', image: 'x' }] }, status: { phase: 'Pending' } }),
    null,
    terminated,
  );
  assert.deepEqual([told.at(-1)?.status.phase, told.at(-1)?.isFinished, told.at(-1)?.couldHaveRunningContainers], ['Failed', true, false]);
});

test('what was said last of a pod that has ended stays, also what an earlier kubelet said', () => {
  const { statuses, told } = aKeeper();
  const status: PodStatus = { phase: 'Failed', reason: 'OutOfcpu', startTime: '2026-01-01T00:00:00Z' };
  statuses.markFinished(anApiPod({ status }), null, terminated);
  assert.equal(told.at(-1)?.status, status);
});

test('a pod that was called failed while its containers ran, and is gone now, shows that they do not', () => {
  const { statuses, told } = aKeeper();
  const containerStatuses = [{ name: 'app', image: 'x', imageID: '', ready: true, restartCount: 0, state: { running: {} } }];
  statuses.markFinished(anApiPod({ status: { phase: 'Failed', reason: 'NodeLost', containerStatuses } }), null, terminated);
  const { status } = told.at(-1)!;
  assert.deepEqual([status.phase, status.reason, status.containerStatuses?.[0]?.state?.terminated?.exitCode], ['Failed', 'NodeLost', 137]);
});

test('a deadline does not make a pod fail that has succeeded', () => {
  const { statuses } = aKeeper();
  statuses.setFailed(uid, { reason: 'DeadlineExceeded', message: 'x' });
  const status = statuses.regenerate(anApiPod({ status: { phase: 'Succeeded' } }), null, terminated);
  assert.deepEqual([status.phase, status.reason], ['Succeeded', undefined]);
});

test('a static pod goes on from what its mirror says of it', () => {
  const startTime = '2025-06-01T00:00:00Z';
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: startTime }];
  const aStatic = (hash: string) =>
    aPod({ metadata: { annotations: { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': hash } } });
  const annotations = { 'kubernetes.io/config.mirror': 'h1' };
  const mirror = aPod({ metadata: { uid: 'mirror', annotations }, status: { phase: 'Running', startTime, conditions } });
  assert.equal(aKeeper({ mirror }).statuses.regenerate(aStatic('h1'), running, syncing).startTime, startTime);
  assert.notEqual(aKeeper({ mirror }).statuses.regenerate(aStatic('h2'), running, syncing).startTime, startTime);
  const late = aKeeper();
  assert.notEqual(late.statuses.regenerate(aPod(), running, syncing).startTime, startTime);
  assert.equal(late.statuses.adoptMirrorStatus(uid, mirror.status), true);
  const status = late.statuses.regenerate(aPod(), running, syncing);
  assert.equal(status.startTime, startTime);
  assert.equal(status.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime, startTime);
  assert.equal(late.statuses.adoptMirrorStatus(uid, mirror.status), false);
});

test('a pod that ends keeps its address until the last', () => {
  const { statuses } = aKeeper();
  const pod = anApiPod();
  statuses.regenerate(pod, running, syncing);
  const status = statuses.regenerate(pod, aRuntimePodStatus({ podIPs: [], containers: [anExitedContainer(0)] }), terminated);
  assert.deepEqual([status.podIP, status.podIPs], ['10.0.0.7', [{ ip: '10.0.0.7' }]]);
});

test('that a container could make all of its pod restart is shown only where that is so', () => {
  const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } };
  const pod = anApiPod({ spec: { containers: [{ name: 'app', restartPolicyRules: [rule] }] } });
  for (const restartAllContainers of [true, false]) {
    const { conditions } = aKeeper({ restartAllContainers }).statuses.regenerate(pod, running, syncing);
    assert.equal(
      conditions?.some(({ type }) => type === 'AllContainersRestarting'),
      restartAllContainers,
    );
  }
});

const lostInit = 'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';

test('an init container of a static pod that the runtime has lost counts as completed, whatever its mirror says', () => {
  const annotations = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'h1' };
  const pod = aPod({ metadata: { annotations }, spec: { initContainers: [{ name: 'prepare', image: 'x' }] } });
  const before = aRuntimePodStatus({
    containers: [aRuntimeContainer(), anExitedContainer(0, { name: 'prepare', id: 'init' as ContainerID })],
  });
  const said = aKeeper().statuses.regenerate(pod, before, syncing);
  const mirror = aPod({ metadata: { uid: 'mirror', annotations: { 'kubernetes.io/config.mirror': 'h1' } }, status: said });
  const init = (status: PodStatus) => status.initContainerStatuses?.[0];
  const { statuses } = aKeeper({ mirror });
  // What the runtime still has is as the mirror says.
  assert.deepEqual(init(statuses.regenerate(pod, before, syncing)), init(said));
  assert.deepEqual(init(statuses.regenerate(pod, running, syncing)), init(said));
  const restarted = aKeeper({ mirror }).statuses;
  for (const round of ['first', 'second']) {
    const status = restarted.regenerate(pod, running, syncing);
    assert.deepEqual(init(status)?.state, { terminated: { exitCode: 0, reason: 'Completed', message: lostInit } }, round);
    assert.equal(status.phase, 'Running');
  }
  const late = aKeeper().statuses;
  late.regenerate(pod, running, syncing);
  late.adoptMirrorStatus(uid, said);
  assert.equal(init(late.regenerate(pod, running, syncing))?.state?.terminated?.message, lostInit);
});

test('an init container of a pod of the API server that the runtime has lost is as it was published', () => {
  const pod = anApiPod({ spec: { initContainers: [{ name: 'prepare', image: 'x' }] } });
  const before = aRuntimePodStatus({
    containers: [aRuntimeContainer(), anExitedContainer(0, { name: 'prepare', id: 'init' as ContainerID })],
  });
  const status = aKeeper().statuses.regenerate(pod, before, syncing);
  const next = aKeeper().statuses.regenerate({ ...pod, status }, running, syncing);
  assert.deepEqual(next.initContainerStatuses, status.initContainerStatuses);
  const unpublished = aKeeper().statuses.regenerate(pod, running, syncing);
  assert.equal(unpublished.initContainerStatuses?.[0]?.state?.terminated?.message, lostInit);
});
