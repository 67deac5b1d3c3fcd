import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  generateContainerStatuses,
  type ContainerKind,
  type WaitingReasons,
} from '../../../../../src/main/pods/api-status/container-statuses.ts';
import type { RuntimeContainerStatus } from '../../../../../src/shared/contracts/runtime-status.ts';
import type { Container, ContainerStatus, PodSpec } from '../../../../../src/shared/kubernetes/api.ts';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import { aContainer, anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../../support/pods.ts';
import { table } from '../../../../support/table.ts';

interface Case {
  readonly name: string;
  readonly container?: Container;
  readonly spec?: Partial<PodSpec>;
  readonly seen?: readonly RuntimeContainerStatus[];
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
  { name: 'is being created when the runtime has none', want: 'waiting ContainerCreating, restarts 0' },
  {
    name: 'is being created also when it has the name of an inherited property',
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
    seen: [aRuntimeContainer({ state: 'created' })],
    want: 'waiting, restarts 0',
  },
  { name: 'is running, started and ready', seen: [aRuntimeContainer()], want: 'running, restarts 0, started, ready' },
  { name: 'shows why it ended', seen: [anExitedContainer(1, { reason: 'OOMKilled' })], want: 'terminated 1 OOMKilled, restarts 0' },
  {
    name: 'shows the end before as the last state',
    seen: [aRuntimeContainer(newer), anExitedContainer(1)],
    want: 'running, last terminated 1 Error, restarts 1, started, ready',
  },
  {
    name: 'backs off, with its end as the last state',
    seen: [anExitedContainer(1)],
    waiting: crashLoop,
    want: 'waiting CrashLoopBackOff, last terminated 1 Error, restarts 0',
  },
  {
    name: 'has no back-off while it runs, whatever the last sync said',
    seen: [aRuntimeContainer()],
    waiting: crashLoop,
    want: 'running, restarts 0, started, ready',
  },
  {
    name: 'that is not to run again shows its end, not a reason to wait',
    spec: { restartPolicy: 'Never' },
    seen: [anExitedContainer(1)],
    waiting: crashLoop,
    want: 'terminated 1 Error, restarts 0',
  },
  {
    name: 'of a deleted pod never waits for a start',
    seen: [anExitedContainer(1)],
    waiting: crashLoop,
    deleted: true,
    want: 'terminated 1 Error, restarts 0',
  },
  {
    name: 'that cannot be pulled says so',
    waiting: { app: { reason: 'ImagePullBackOff', message: 'Back-off pulling image' } },
    want: 'waiting ImagePullBackOff, restarts 0',
  },
  {
    name: 'keeps its end when the runtime has collected it',
    before: { containerID: 'containerd://container-0', state: { terminated: { exitCode: 3, reason: 'Error' } }, restartCount: 4 },
    want: 'terminated 3 Error, restarts 4',
  },
  {
    name: 'remembers its last end when the runtime has collected the one before',
    seen: [aRuntimeContainer(newer)],
    before: { containerID: 'containerd://container-0', state: { terminated: { exitCode: 3, reason: 'Error' } } },
    want: 'running, last terminated 3 Error, restarts 1, started, ready',
  },
  {
    name: 'that ran and vanished has ended somehow',
    before: { containerID: 'containerd://container-0', state: { running: {} }, restartCount: 2 },
    want: 'waiting ContainerCreating, last terminated 137 ContainerStatusUnknown, restarts 3',
  },
  {
    name: 'in an unknown state that ran before counts as ended',
    seen: [aRuntimeContainer({ state: 'unknown' })],
    before: { containerID: 'containerd://container-0', state: { running: {} }, restartCount: 1 },
    want: 'terminated 137 ContainerStatusUnknown, restarts 2',
  },
  { name: 'in an unknown state that nobody saw run waits', seen: [aRuntimeContainer({ state: 'unknown' })], want: 'waiting, restarts 0' },
  {
    name: 'never loses restarts when the runtime counts fewer',
    seen: [aRuntimeContainer()],
    before: { containerID: 'containerd://container-0', state: { running: {} }, restartCount: 7 },
    want: 'running, restarts 7, started, ready',
  },
  {
    name: 'that initializes is ready once it completed',
    kind: 'init',
    container: completedInit,
    seen: [anExitedContainer(0, { name: 'prepare' })],
    want: 'terminated 0 Completed, restarts 0, ready',
  },
  {
    name: 'that initializes is not ready while it runs',
    kind: 'init',
    container: completedInit,
    seen: [aRuntimeContainer({ name: 'prepare' })],
    want: 'running, restarts 0, started',
  },
  {
    name: 'that initialized is taken as completed when only the regular ones are left',
    kind: 'init',
    container: completedInit,
    spec: { initContainers: [completedInit] },
    seen: [aRuntimeContainer()],
    want: 'terminated 0 Completed, restarts 0, ready',
  },
  {
    name: 'that is a sidecar is ready while it runs',
    kind: 'init',
    container: aContainer({ name: 'proxy', restartPolicy: 'Always' }),
    seen: [aRuntimeContainer({ name: 'proxy' })],
    want: 'running, restarts 0, started, ready',
  },
  {
    name: 'that is a lost sidecar is not taken as completed',
    kind: 'init',
    container: aContainer({ name: 'proxy', restartPolicy: 'Always' }),
    spec: { initContainers: [aContainer({ name: 'proxy', restartPolicy: 'Always' })] },
    seen: [aRuntimeContainer()],
    want: 'waiting PodInitializing, restarts 0',
  },
  {
    name: 'that was removed to restart them all waits, and has ended for that',
    before: { containerID: 'containerd://container-0', state: { running: {} }, restartCount: 2 },
    restarting: true,
    want: 'waiting RestartingAllContainers, last terminated 137 RestartingAllContainers, restarts 3',
  },
  {
    name: 'that had ended and was removed to restart them all is counted once more',
    before: { containerID: 'containerd://container-0', state: { terminated: { exitCode: 7 } }, restartCount: 0 },
    restarting: true,
    want: 'waiting RestartingAllContainers, last terminated 137 RestartingAllContainers, restarts 1',
  },
  {
    name: 'that was removed to restart them all is counted once only',
    before: { state: { waiting: { reason: 'RestartingAllContainers' } }, lastState: { terminated: { exitCode: 137 } }, restartCount: 3 },
    restarting: true,
    want: 'waiting ContainerCreating, last terminated 137, restarts 3',
  },
  {
    name: 'that is not known while all are restarted ended for that',
    seen: [aRuntimeContainer({ state: 'unknown' })],
    before: { state: { running: {} }, restartCount: 1 },
    restarting: true,
    want: 'terminated 137 RestartingAllContainers, restarts 2',
  },
  {
    name: 'that runs after an end that the runtime has forgotten is counted once more',
    seen: [aRuntimeContainer({ id: 'container-1' as ContainerID })],
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
    seen = [],
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
      const input = { pod, status: aRuntimePodStatus({ containers: seen }), waiting, node: { runtimeName: 'containerd' }, restarting };
      const [status] = generateContainerStatuses(input, [container], previous, kind);
      assert.equal(summary(status!), want);
    });
  }
});

test('status: a container shows its resources as the runtime really gave them', () => {
  const container = aContainer({ resources: { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '500m', memory: '64Mi' } } });
  const given = (cpuQuota: number, cpuShares: number) =>
    aRuntimeContainer({ resources: { cpuShares, cpuQuota, cpuPeriod: 100_000, memoryLimitBytes: 64 * 1024 * 1024 } });
  const shown = (seen: RuntimeContainerStatus) => {
    const input = {
      pod: aPod(),
      status: aRuntimePodStatus({ containers: [seen] }),
      waiting: {},
      node: { runtimeName: 'containerd' },
      restarting: false,
    };
    return generateContainerStatuses(input, [container], [], 'regular')[0]?.resources;
  };
  assert.deepEqual(shown(given(50_000, 102)), container.resources);
  assert.deepEqual(shown(given(75_000, 205)), { requests: { cpu: '201m', memory: '64Mi' }, limits: { cpu: '750m', memory: '64Mi' } });
});

test('status: the image of a container is shown as the runtime refers to it, with the digest of its repository', () => {
  const seen = aRuntimeContainer({ imageID: 'sha256:config', imageRef: 'local.example/app@sha256:manifest' });
  const input = {
    pod: aPod(),
    status: aRuntimePodStatus({ containers: [seen] }),
    waiting: {},
    node: { runtimeName: 'r' },
    restarting: false,
  };
  assert.equal(generateContainerStatuses(input, [aContainer()], [], 'regular')[0]?.imageID, 'local.example/app@sha256:manifest');
});

table('status: a read-only mount is shown as the runtime can make it', (row) => {
  for (const [handlers, mode, want] of [
    [[{ name: '', recursiveReadOnlyMounts: true, userNamespaces: false }], 'IfPossible', 'Enabled'],
    [[], 'IfPossible', 'Disabled'],
    [[], 'Enabled', 'Disabled'],
    [[{ name: '', recursiveReadOnlyMounts: true, userNamespaces: false }], undefined, 'Disabled'],
  ] as const) {
    row(`status: a read-only mount (${mode}) is shown as ${want} with ${handlers.length} handlers`, () => {
      const mount = { name: 'v', mountPath: '/v', readOnly: true, ...(mode && { recursiveReadOnly: mode }) };
      const node = { runtimeName: 'r', runtimeHandlers: handlers };
      const input = { pod: aPod(), status: aRuntimePodStatus({ containers: [aRuntimeContainer()] }), waiting: {}, node, restarting: false };
      const [status] = generateContainerStatuses(input, [aContainer({ volumeMounts: [mount] })], [], 'regular');
      assert.deepEqual(status?.volumeMounts, [{ name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: want }]);
    });
  }
});

test('status: a container that is still to be created shows its mounts; what its handler can do is known with the container, and stays', () => {
  const mount = { name: 'v', mountPath: '/v', readOnly: true, recursiveReadOnly: 'IfPossible' };
  const modes = (containers: RuntimeContainerStatus[], can: boolean, before: readonly ContainerStatus[]) => {
    const node = { runtimeName: 'r', runtimeHandlers: [{ name: '', recursiveReadOnlyMounts: can, userNamespaces: false }] };
    const input = { pod: aPod(), status: aRuntimePodStatus({ containers }), waiting: {}, node, restarting: false };
    return generateContainerStatuses(input, [aContainer({ volumeMounts: [mount] })], before, 'regular');
  };
  const waiting = modes([], false, []);
  const created = modes([aRuntimeContainer()], true, waiting);
  const later = modes([aRuntimeContainer()], false, created);
  assert.deepEqual(
    [waiting, created, later].map(([status]) => status?.volumeMounts?.[0]?.recursiveReadOnly),
    ['Disabled', 'Enabled', 'Enabled'],
  );
});

table('the signal that a container is stopped with is shown with the feature only', (row) => {
  const shown = (stopSignal: string | undefined, stopSignals: boolean | undefined) => {
    const seen = aRuntimeContainer(stopSignal === undefined ? {} : { stopSignal });
    const input = {
      pod: aPod(),
      status: aRuntimePodStatus({ containers: [seen] }),
      waiting: {},
      node: { runtimeName: 'x' },
      restarting: false,
    };
    return generateContainerStatuses({ ...input, ...(stopSignals !== undefined && { stopSignals }) }, [aContainer()], [], 'regular')[0]
      ?.stopSignal;
  };
  row('on', () => assert.equal(shown('SIGUSR1', true), 'SIGUSR1'));
  row('on, and the runtime does not say', () => assert.equal(shown(undefined, true), undefined));
  row('off', () => assert.equal(shown('SIGUSR1', false), undefined));
  row('by default', () => assert.equal(shown('SIGUSR1', undefined), undefined));
});

table('which image an image volume is, is shown with the feature only', (row) => {
  const mounted = { hostPath: '', readonly: true, recursiveReadOnly: false };
  const shown = (mounts: RuntimeContainerStatus['mounts'], imageVolumeRefs?: boolean) => {
    const volumeMounts = [
      { name: 'data', mountPath: 'data/' },
      { name: 'plain', mountPath: '/plain' },
    ];
    const pod = aPod({
      spec: {
        volumes: [
          { name: 'data', image: { reference: 'local.example/data:1' } },
          { name: 'plain', emptyDir: {} },
        ],
      },
    });
    const status = aRuntimePodStatus({ containers: [aRuntimeContainer({ mounts })] });
    const input = { pod, status, waiting: {}, node: { runtimeName: 'x' }, restarting: false };
    const features = imageVolumeRefs === undefined ? {} : { imageVolumeRefs };
    const [app] = generateContainerStatuses({ ...input, ...features }, [aContainer({ volumeMounts })], [], 'regular');
    return app?.volumeMounts?.map(({ volumeStatus }) => volumeStatus?.image?.imageRef);
  };
  const image = [
    { ...mounted, containerPath: '/data', image: 'sha256:abc' },
    { ...mounted, containerPath: '/plain', image: 'sha256:def' },
  ];
  row('on', () => assert.deepEqual(shown(image, true), ['sha256:abc', undefined]));
  row('on, and the runtime does not say', () =>
    assert.deepEqual(shown([{ ...mounted, containerPath: '/data' }], true), [undefined, undefined]),
  );
  row('off', () => assert.deepEqual(shown(image, false), [undefined, undefined]));
  row('by default', () => assert.deepEqual(shown(image), [undefined, undefined]));
});
