import assert from 'node:assert/strict';
import { generateContainerStatuses, type ContainerKind } from '../../../../../src/main/pods/api-status/container-statuses.ts';
import type { ContainerProbeResults } from '../../../../../src/main/probes/index.ts';
import type { RuntimeContainerStatus } from '../../../../../src/shared/contracts/runtime-status.ts';
import type { Container, ContainerStatus, PodSpec } from '../../../../../src/shared/kubernetes/api.ts';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import type { WaitingReasons } from '../../../../../src/shared/kubernetes/waiting-reasons.ts';
import { plainStatusInput } from '../../../../support/pods/pod-parts.ts';
import { aContainer, anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';
import { statusFeaturesWith } from '../../../../support/pods/status-features.ts';

interface Case {
  readonly name: string;
  readonly container?: Container;
  readonly spec?: Partial<PodSpec>;
  readonly instances?: readonly RuntimeContainerStatus[];
  readonly before?: Partial<ContainerStatus>;
  readonly waiting?: WaitingReasons;
  readonly kind?: ContainerKind;
  readonly deleted?: boolean;
  readonly restarting?: boolean;
  readonly want: string;
}

const crashLoop = { app: { reason: 'CrashLoopBackOff', message: 'back-off 10s restarting failed container=app' } };
const newer = { id: 'container-1' as ContainerID, restartCount: 1 };
const completedInit = aContainer({ name: 'prepare' });

const cases: Case[] = [
  { name: 'is ContainerCreating when the runtime has none', want: 'waiting ContainerCreating, restarts 0' },
  {
    name: 'is ContainerCreating even if its name is that of an inherited property',
    container: aContainer({ name: 'constructor' }),
    want: 'waiting ContainerCreating, restarts 0',
  },
  {
    name: 'waits for the init containers when there are any',
    spec: { initContainers: [completedInit] },
    want: 'waiting PodInitializing, restarts 0',
  },
  {
    name: 'waits without a reason when created and not started',
    instances: [aRuntimeContainer({ state: 'created' })],
    want: 'waiting, restarts 0',
  },
  { name: 'is running, started and ready', instances: [aRuntimeContainer()], want: 'running, restarts 0, started, ready' },
  {
    name: 'shows its termination reason',
    instances: [anExitedContainer(1, { reason: 'OOMKilled' })],
    want: 'terminated 1 OOMKilled, restarts 0',
  },
  {
    name: 'shows its previous termination as the last state',
    instances: [aRuntimeContainer(newer), anExitedContainer(1)],
    want: 'running, last terminated 1 Error, restarts 1, started, ready',
  },
  {
    name: 'in back-off has its termination as the last state',
    instances: [anExitedContainer(1)],
    waiting: crashLoop,
    want: 'waiting CrashLoopBackOff, last terminated 1 Error, restarts 0',
  },
  {
    name: 'has no waiting reason while it runs',
    instances: [aRuntimeContainer()],
    waiting: crashLoop,
    want: 'running, restarts 0, started, ready',
  },
  {
    name: 'that is not restarted shows its termination, not a waiting reason',
    spec: { restartPolicy: 'Never' },
    instances: [anExitedContainer(1)],
    waiting: crashLoop,
    want: 'terminated 1 Error, restarts 0',
  },
  {
    name: 'of a deleted pod never waits for a start',
    instances: [anExitedContainer(1)],
    waiting: crashLoop,
    deleted: true,
    want: 'terminated 1 Error, restarts 0',
  },
  {
    name: 'whose image cannot be pulled shows the reason',
    waiting: { app: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } },
    want: 'waiting ImagePullBackOff, restarts 0',
  },
  {
    name: 'keeps its termination when the runtime has removed it',
    before: { containerID: 'containerd://container-0', state: { terminated: { exitCode: 3, reason: 'Error' } }, restartCount: 4 },
    want: 'terminated 3 Error, restarts 4',
  },
  {
    name: 'keeps its last termination when the runtime has removed the previous instance',
    instances: [aRuntimeContainer(newer)],
    before: { containerID: 'containerd://container-0', state: { terminated: { exitCode: 3, reason: 'Error' } } },
    want: 'running, last terminated 3 Error, restarts 1, started, ready',
  },
  {
    name: 'that ran and disappeared has a terminated last state',
    before: { containerID: 'containerd://container-0', state: { running: {} }, restartCount: 2 },
    want: 'waiting ContainerCreating, last terminated 137 ContainerStatusUnknown, restarts 3',
  },
  {
    name: 'in an unknown state that ran before counts as terminated',
    instances: [aRuntimeContainer({ state: 'unknown' })],
    before: { containerID: 'containerd://container-0', state: { running: {} }, restartCount: 1 },
    want: 'terminated 137 ContainerStatusUnknown, restarts 2',
  },
  { name: 'in an unknown state that never ran waits', instances: [aRuntimeContainer({ state: 'unknown' })], want: 'waiting, restarts 0' },
  {
    name: 'keeps its restart count when the runtime counts fewer',
    instances: [aRuntimeContainer()],
    before: { containerID: 'containerd://container-0', state: { running: {} }, restartCount: 7 },
    want: 'running, restarts 7, started, ready',
  },
  {
    name: 'that is an init container is ready once it completed',
    kind: 'init',
    container: completedInit,
    instances: [anExitedContainer(0, { name: 'prepare' })],
    want: 'terminated 0 Completed, restarts 0, ready',
  },
  {
    name: 'that is an init container is not ready while it runs',
    kind: 'init',
    container: completedInit,
    instances: [aRuntimeContainer({ name: 'prepare' })],
    want: 'running, restarts 0, started',
  },
  {
    name: 'that is a lost init container counts as completed when only regular containers are left',
    kind: 'init',
    container: completedInit,
    spec: { initContainers: [completedInit] },
    instances: [aRuntimeContainer()],
    want: 'terminated 0 Completed, restarts 0, ready',
  },
  {
    name: 'that is a sidecar is ready while it runs',
    kind: 'init',
    container: aContainer({ name: 'proxy', restartPolicy: 'Always' }),
    instances: [aRuntimeContainer({ name: 'proxy' })],
    want: 'running, restarts 0, started, ready',
  },
  {
    name: 'that is a lost sidecar does not count as completed',
    kind: 'init',
    container: aContainer({ name: 'proxy', restartPolicy: 'Always' }),
    spec: { initContainers: [aContainer({ name: 'proxy', restartPolicy: 'Always' })] },
    instances: [aRuntimeContainer()],
    want: 'waiting PodInitializing, restarts 0',
  },
  {
    name: 'that was removed for a restart of all waits with that termination',
    before: { containerID: 'containerd://container-0', state: { running: {} }, restartCount: 2 },
    restarting: true,
    want: 'waiting RestartingAllContainers, last terminated 137 RestartingAllContainers, restarts 3',
  },
  {
    name: 'that had terminated and was removed for a restart of all counts one more restart',
    before: { containerID: 'containerd://container-0', state: { terminated: { exitCode: 7 } }, restartCount: 0 },
    restarting: true,
    want: 'waiting RestartingAllContainers, last terminated 137 RestartingAllContainers, restarts 1',
  },
  {
    name: 'that was removed for a restart of all counts only one restart',
    before: { state: { waiting: { reason: 'RestartingAllContainers' } }, lastState: { terminated: { exitCode: 137 } }, restartCount: 3 },
    restarting: true,
    want: 'waiting ContainerCreating, last terminated 137, restarts 3',
  },
  {
    name: 'in an unknown state during a restart of all terminated for that',
    instances: [aRuntimeContainer({ state: 'unknown' })],
    before: { state: { running: {} }, restartCount: 1 },
    restarting: true,
    want: 'terminated 137 RestartingAllContainers, restarts 2',
  },
  {
    name: 'that runs after a termination that the runtime has lost counts one more restart',
    instances: [aRuntimeContainer({ id: 'container-1' as ContainerID })],
    before: { containerID: 'containerd://container-0', state: { terminated: { exitCode: 1, reason: 'Error' } }, restartCount: 4 },
    want: 'running, last terminated 1 Error, restarts 5, started, ready',
  },
];

function stateText(state: ContainerStatus['state']): string {
  if (state?.running) return 'running';
  if (state?.terminated) return `terminated ${state.terminated.exitCode} ${state.terminated.reason ?? ''}`.trim();
  return `waiting ${state?.waiting?.reason ?? ''}`.trim();
}

function summary(status: ContainerStatus): string {
  return [
    stateText(status.state),
    ...(status.lastState?.terminated ? [`last ${stateText(status.lastState)}`] : []),
    `restarts ${status.restartCount}`,
    ...(status.started ? ['started'] : []),
    ...(status.ready ? ['ready'] : []),
  ].join(', ');
}

table('status: a container', (row) => {
  for (const {
    name,
    container = aContainer(),
    spec,
    instances = [],
    before,
    waiting = {},
    kind = 'regular',
    deleted,
    restarting = false,
    want,
  } of cases) {
    row(`status: a container ${name}`, () => {
      const pod = aPod({ spec: { ...spec }, ...(deleted ? { metadata: { deletionTimestamp: '2026-01-01T00:00:00Z' } } : {}) });
      const previous = before ? [{ name: container.name, image: 'i', imageID: '', ready: false, restartCount: 0, ...before }] : [];
      const input = {
        ...plainStatusInput(pod),
        status: aRuntimePodStatus({ containers: instances }),
        waiting,
        node: { runtimeName: 'containerd' },
        restarting,
        ...statusFeaturesWith(),
      };
      const [status] = generateContainerStatuses(input, [container], previous, kind);
      assert.equal(summary(status!), want);
    });
  }
});

table('probes decide whether a running container has started and is ready', (row) => {
  const probe = { exec: { command: ['true'] } };
  const shown = (
    container: Partial<Container>,
    results: ContainerProbeResults | undefined,
    instance: Partial<RuntimeContainerStatus> = {},
  ) => {
    const status = aRuntimePodStatus({ containers: [aRuntimeContainer(instance)] });
    const input = {
      ...plainStatusInput(aPod()),
      status,
      waiting: {},
      node: { runtimeName: 'r' },
      restarting: false,
      ...statusFeaturesWith(),
    };
    const kind = container.restartPolicy === 'Always' ? 'init' : 'regular';
    const [generated] = generateContainerStatuses({ ...input, probeResults: () => results }, [aContainer(container)], [], kind);
    return `${generated?.started ? 'started' : 'not started'}, ${generated?.ready ? 'ready' : 'not ready'}`;
  };
  const both = { startupProbe: probe, readinessProbe: probe };
  for (const [name, container, results, want] of [
    ['no probes', {}, undefined, 'started, ready'],
    ['a liveness probe, failed', { livenessProbe: probe }, { liveness: 'failure' }, 'started, ready'],
    ['a readiness probe that has not run', { readinessProbe: probe }, undefined, 'started, not ready'],
    ['a readiness probe, failed', { readinessProbe: probe }, { readiness: 'failure' }, 'started, not ready'],
    ['a readiness probe, succeeded', { readinessProbe: probe }, { readiness: 'success' }, 'started, ready'],
    ['a startup probe that has not run', both, { readiness: 'success' }, 'not started, not ready'],
    ['a startup probe, failed', { startupProbe: probe }, { startup: 'failure' }, 'not started, not ready'],
    ['a startup probe, succeeded', { startupProbe: probe }, { startup: 'success' }, 'started, ready'],
    ['a sidecar before its startup probe', { startupProbe: probe, restartPolicy: 'Always' }, undefined, 'not started, not ready'],
    ['a sidecar after it', { startupProbe: probe, restartPolicy: 'Always' }, { startup: 'success' }, 'started, ready'],
  ] as const) {
    row(name, () => assert.equal(shown(container, results), want));
  }
  row('a container that does not run', () =>
    assert.equal(shown(both, { startup: 'success', readiness: 'success' }, { state: 'exited' }), 'not started, not ready'),
  );
});
