import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { StatusFeatures } from '../../../../../src/main/pods/api-status/generate-api-pod-status.ts';
import type { StatusUpdate } from '../../../../../src/main/pods/api-status/api-status-cache.ts';
import type { Pod, PodStatus } from '../../../../../src/shared/kubernetes/api.ts';
import type { ContainerID, PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';
import { anApiStatusCache } from '../../../../support/pods/pod-parts.ts';
import { anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods/pods.ts';
import { statusFeaturesWith } from '../../../../support/pods/status-features.ts';
import { table } from '../../../../support/table.ts';

const uid = 'uid-web' as PodUID;
const syncing = { state: 'syncing', started: true } as const;
const terminated = { state: 'terminated', finished: true, deleted: true, evicted: false, restartRequested: false } as const;

function aCache({ mirror, ...features }: { mirror?: Pod } & Partial<StatusFeatures> = {}) {
  const updates: StatusUpdate[] = [];
  const logs = aLogger();
  const statuses = anApiStatusCache({
    mirrorOf: () => mirror,
    sink: { set: (update) => void updates.push(update), expedite: () => {} },
    features: statusFeaturesWith(features),
    clock: new FakeClock(),
    logger: logs.logger,
  });
  return { statuses, updates, logs };
}

const running = aRuntimePodStatus({ containers: [aRuntimeContainer()] });
const anApiPod = (fields: Parameters<typeof aPod>[0] = {}) =>
  aPod({ ...fields, metadata: { annotations: { 'kubernetes.io/config.source': 'api' }, ...fields.metadata } });

test('each change reaches the sink once, with whether containers may still run', () => {
  const { statuses, updates } = aCache();
  statuses.regenerate(aPod(), running, syncing);
  statuses.regenerate(aPod(), running, syncing);
  assert.deepEqual(
    updates.map(({ status, couldHaveRunningContainers, isFinished }) => [status.phase, couldHaveRunningContainers, isFinished]),
    [['Running', true, false]],
  );
});

test('the health of a volume is shown at once, and stays in later statuses, also of the next kubelet, while its gate is on', () => {
  const { statuses, updates } = aCache({ volumeHealth: true });
  const slow = { status: 'Degraded', reason: 'SlowPath' } as const;
  statuses.setVolumeHealth(aPod(), 'data', [slow]);
  assert.equal(updates.length, 0);
  statuses.regenerate(aPod(), running, syncing);
  for (let times = 0; times < 2; times += 1) statuses.setVolumeHealth(aPod(), 'data', [slow]);
  const shown = statuses.get(uid)?.volumeHealth;
  assert.deepEqual(
    shown?.map(({ name, healthConditions }) => [name, healthConditions]),
    [['data', [slow]]],
  );
  assert.equal(updates.length, 2);
  statuses.regenerate(aPod(), null, syncing);
  assert.equal(updates.at(-1)?.status.volumeHealth, shown);
  const stored = aPod({ status: { phase: 'Running', volumeHealth: shown } });
  assert.equal(aCache({ volumeHealth: true }).statuses.regenerate(stored, running, syncing).volumeHealth, shown);
  assert.equal(aCache().statuses.regenerate(stored, running, syncing).volumeHealth, undefined);
});

test('a pod that never started and has nothing in the runtime has no running containers', () => {
  const { statuses, updates } = aCache();
  statuses.regenerate(aPod(), null, { state: 'syncing', started: false });
  assert.equal(updates[0]?.couldHaveRunningContainers, false);
});

test('a status with an illegal container state transition is discarded', () => {
  const { statuses, logs } = aCache();
  const pod = anApiPod({ spec: { restartPolicy: 'Never' } });
  const before = statuses.regenerate(pod, aRuntimePodStatus({ containers: [anExitedContainer(1)] }), syncing);
  assert.equal(statuses.regenerate(pod, running, syncing), before);
  assert.equal(logs.lines.at(-1)?.msg, 'Status update on pod aborted');
});

test('a finished pod gets a terminal phase, whatever its containers’ states are', () => {
  const { statuses, updates } = aCache();
  statuses.markFinished(
    anApiPod({ spec: { initContainers: [{ name: 'prepare', image: 'x' }] }, status: { phase: 'Pending' } }),
    null,
    terminated,
  );
  assert.deepEqual(
    [updates.at(-1)?.status.phase, updates.at(-1)?.isFinished, updates.at(-1)?.couldHaveRunningContainers],
    ['Failed', true, false],
  );
});

test('a terminal status is kept, even one from an earlier kubelet', () => {
  const { statuses, updates } = aCache();
  const status: PodStatus = { phase: 'Failed', reason: 'OutOfcpu', startTime: '2026-01-01T00:00:00Z' };
  statuses.markFinished(anApiPod({ status }), null, terminated);
  assert.equal(updates.at(-1)?.status, status);
});

test('a pod that was reported as Failed while its containers ran shows them as terminated once it is finished', () => {
  const { statuses, updates } = aCache();
  const containerStatuses = [{ name: 'app', image: 'x', imageID: '', ready: true, restartCount: 0, state: { running: {} } }];
  statuses.markFinished(anApiPod({ status: { phase: 'Failed', reason: 'NodeLost', containerStatuses } }), null, terminated);
  const { status } = updates.at(-1)!;
  assert.deepEqual([status.phase, status.reason, status.containerStatuses?.[0]?.state?.terminated?.exitCode], ['Failed', 'NodeLost', 137]);
});

test('a deadline does not fail a pod that has succeeded', () => {
  const { statuses } = aCache();
  statuses.setFailed(uid, { reason: 'DeadlineExceeded', message: 'x' });
  const status = statuses.regenerate(anApiPod({ status: { phase: 'Succeeded' } }), null, terminated);
  assert.deepEqual([status.phase, status.reason], ['Succeeded', undefined]);
});

test('a static pod continues the status of its mirror pod', () => {
  const startTime = '2025-06-01T00:00:00Z';
  const conditions = [{ type: 'Ready', status: 'True', lastTransitionTime: startTime }];
  const aStatic = (hash: string) =>
    aPod({ metadata: { annotations: { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': hash } } });
  const annotations = { 'kubernetes.io/config.mirror': 'h1' };
  const mirror = aPod({ metadata: { uid: 'mirror', annotations }, status: { phase: 'Running', startTime, conditions } });
  assert.equal(aCache({ mirror }).statuses.regenerate(aStatic('h1'), running, syncing).startTime, startTime);
  assert.notEqual(aCache({ mirror }).statuses.regenerate(aStatic('h2'), running, syncing).startTime, startTime);
  const late = aCache();
  assert.notEqual(late.statuses.regenerate(aPod(), running, syncing).startTime, startTime);
  assert.equal(late.statuses.adoptMirrorStatus(uid, mirror.status), true);
  const status = late.statuses.regenerate(aPod(), running, syncing);
  assert.equal(status.startTime, startTime);
  assert.equal(status.conditions?.find(({ type }) => type === 'Ready')?.lastTransitionTime, startTime);
  assert.equal(late.statuses.adoptMirrorStatus(uid, mirror.status), false);
});

test('a static pod does not end because its mirror pod says so', () => {
  const annotations = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'h1' };
  const pod = aPod({ metadata: { annotations }, spec: { restartPolicy: 'Never' } });
  for (const phase of ['Failed', 'Succeeded']) {
    const state = { terminated: { exitCode: 137, reason: 'Error' } };
    const containerStatuses = [{ name: 'app', image: 'x', imageID: '', ready: false, restartCount: 3, state }];
    const status = { phase, reason: 'Terminated', message: 'node shutdown', startTime: '2025-06-01T00:00:00Z', containerStatuses };
    const mirror = aPod({ metadata: { uid: 'mirror', annotations: { 'kubernetes.io/config.mirror': 'h1' } }, status });
    const { statuses } = aCache({ mirror });
    assert.deepEqual(
      [null, running].map((runtime) => statuses.regenerate(pod, runtime, syncing)).map((one) => [one.phase, one.reason]),
      [
        ['Pending', undefined],
        ['Running', undefined],
      ],
    );
    const late = aCache().statuses;
    late.regenerate(pod, running, syncing);
    assert.equal(late.adoptMirrorStatus(uid, status), false);
  }
});

test('a terminating pod keeps its address', () => {
  const { statuses } = aCache();
  const pod = anApiPod();
  statuses.regenerate(pod, running, syncing);
  const status = statuses.regenerate(pod, aRuntimePodStatus({ podIPs: [], containers: [anExitedContainer(0)] }), terminated);
  assert.deepEqual([status.podIP, status.podIPs], ['10.0.0.7', [{ ip: '10.0.0.7' }]]);
});

test('the condition AllContainersRestarting is shown only for pods with such a rule', () => {
  const rule = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } };
  const pod = anApiPod({ spec: { containers: [{ name: 'app', restartPolicyRules: [rule] }] } });
  for (const restartAllContainers of [true, false]) {
    const { conditions } = aCache({
      restartGates: { containerRestartRules: true, restartAllContainersOnContainerExits: restartAllContainers },
    }).statuses.regenerate(pod, running, syncing);
    assert.equal(
      conditions?.some(({ type }) => type === 'AllContainersRestarting'),
      restartAllContainers,
    );
  }
});

const lostInit = 'Unable to get init container status from container runtime and pod has been initialized, treat it as exited normally';

test('a static pod’s lost init container counts as completed, whatever the mirror pod’s status is', () => {
  const annotations = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'h1' };
  const pod = aPod({ metadata: { annotations }, spec: { initContainers: [{ name: 'prepare', image: 'x' }] } });
  const before = aRuntimePodStatus({
    containers: [aRuntimeContainer(), anExitedContainer(0, { name: 'prepare', id: 'init' as ContainerID })],
  });
  const reported = aCache().statuses.regenerate(pod, before, syncing);
  const mirror = aPod({ metadata: { uid: 'mirror', annotations: { 'kubernetes.io/config.mirror': 'h1' } }, status: reported });
  const init = (status: PodStatus) => status.initContainerStatuses?.[0];
  const { statuses } = aCache({ mirror });
  // Containers that the runtime still has keep the mirror pod’s status.
  assert.deepEqual(init(statuses.regenerate(pod, before, syncing)), init(reported));
  assert.deepEqual(init(statuses.regenerate(pod, running, syncing)), init(reported));
  const restarted = aCache({ mirror }).statuses;
  for (const round of ['first', 'second']) {
    const status = restarted.regenerate(pod, running, syncing);
    assert.deepEqual(init(status)?.state, { terminated: { exitCode: 0, reason: 'Completed', message: lostInit } }, round);
    assert.equal(status.phase, 'Running');
  }
  const late = aCache().statuses;
  late.regenerate(pod, running, syncing);
  late.adoptMirrorStatus(uid, reported);
  assert.equal(init(late.regenerate(pod, running, syncing))?.state?.terminated?.message, lostInit);
});

test('an API pod’s lost init container keeps its published status', () => {
  const pod = anApiPod({ spec: { initContainers: [{ name: 'prepare', image: 'x' }] } });
  const before = aRuntimePodStatus({
    containers: [aRuntimeContainer(), anExitedContainer(0, { name: 'prepare', id: 'init' as ContainerID })],
  });
  const status = aCache().statuses.regenerate(pod, before, syncing);
  const next = aCache().statuses.regenerate({ ...pod, status }, running, syncing);
  assert.deepEqual(next.initContainerStatuses, status.initContainerStatuses);
  const unpublished = aCache().statuses.regenerate(pod, running, syncing);
  assert.equal(unpublished.initContainerStatuses?.[0]?.state?.terminated?.message, lostInit);
});

table('a container that was ready stays so until its probe has run', (row) => {
  const annotations = { 'kubernetes.io/config.source': 'file', 'kubernetes.io/config.hash': 'h1' };
  const readinessProbe = { exec: { command: ['true'] } };
  const spec = { containers: [{ name: 'app', image: 'x', readinessProbe }] };
  const containerID = `containerd://${running.containers[0]!.id}`;
  const app = { name: 'app', image: 'x', imageID: '', ready: true, started: true, restartCount: 0, state: { running: {} }, containerID };
  const status = { phase: 'Running', startTime: '2025-06-01T00:00:00Z', containerStatuses: [app] };
  const readyAfter = (pod: ReturnType<typeof aPod>, steps: readonly ('runtime' | 'nothing' | 'mirror')[]) => {
    const { statuses } = aCache();
    const regenerated = steps.map((step) =>
      step === 'mirror' ? statuses.adoptMirrorStatus(uid, status) : statuses.regenerate(pod, step === 'runtime' ? running : null, syncing),
    );
    return (regenerated.at(-1) as PodStatus).containerStatuses?.[0]?.ready;
  };
  const fromFile = aPod({ metadata: { annotations }, spec });
  row('whose mirror pod comes before what the runtime has', () =>
    assert.equal(readyAfter(fromFile, ['nothing', 'mirror', 'nothing', 'runtime']), true),
  );
  row('whose mirror pod comes afterwards', () => assert.equal(readyAfter(fromFile, ['runtime', 'mirror', 'runtime']), true));
  row('whose mirror pod comes while the runtime does not answer', () =>
    assert.equal(readyAfter(fromFile, ['runtime', 'mirror', 'nothing', 'runtime']), true),
  );
  row('of the API server', () => assert.equal(readyAfter(anApiPod({ spec, status }), ['nothing', 'nothing', 'runtime']), true));
  row('unless nothing says so', () => assert.equal(readyAfter(fromFile, ['nothing', 'runtime']), false));
});
