import assert from 'node:assert/strict';
import { test } from 'node:test';
import { generateApiPodStatus, type ApiStatusInput } from '../../../../../src/main/pods/api-status/generate-api-pod-status.ts';
import { failureReasons, type RuntimeContainerStatus } from '../../../../../src/shared/contracts/runtime-status.ts';
import type { PodStatus } from '../../../../../src/shared/kubernetes/api.ts';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import { plainStatusInput } from '../../../../support/pods/pod-parts.ts';
import { aContainer, anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus, aSandbox } from '../../../../support/pods/pods.ts';
import { statusFeaturesWith } from '../../../../support/pods/status-features.ts';

const nowMs = Date.UTC(2026, 0, 1);

function statusOf(fields: Partial<ApiStatusInput> = {}): PodStatus {
  return generateApiPodStatus({
    ...plainStatusInput(fields.pod ?? aPod()),
    status: aRuntimePodStatus({ containers: [aRuntimeContainer()] }),
    previous: undefined,
    waiting: {},
    node: { hostIPs: ['192.0.2.1'], runtimeName: 'containerd' },
    lifecycle: { terminating: false, ended: false },
    nowMs,
    ...statusFeaturesWith(),
    ...fields,
  });
}

/** `Ready=False ContainersNotReady` */
function conditionsOf(status: PodStatus): string[] {
  return (status.conditions ?? []).map(({ type, status: value, reason }) => `${type}=${value}${reason ? ` ${reason}` : ''}`);
}

test('a running pod is ready and has addresses, QoS class and container IDs', () => {
  const status = statusOf();
  assert.equal(status.phase, 'Running');
  assert.deepEqual(conditionsOf(status), [
    'PodReadyToStartContainers=True',
    'Initialized=True',
    'Ready=True',
    'ContainersReady=True',
    'PodScheduled=True',
  ]);
  assert.deepEqual([status.podIP, status.podIPs, status.hostIP], ['10.0.0.7', [{ ip: '10.0.0.7' }], '192.0.2.1']);
  assert.equal(status.qosClass, 'BestEffort');
  assert.equal(status.startTime, '2026-01-01T00:00:00Z');
  assert.equal(status.containerStatuses?.[0]?.containerID, 'containerd://container-0');
});

test('a new pod without containers in the runtime is Pending and names the containers that are not ready', () => {
  const status = statusOf({ status: null, pod: aPod({ spec: { initContainers: [aContainer({ name: 'prepare' })] } }) });
  assert.equal(status.phase, 'Pending');
  assert.deepEqual(conditionsOf(status), [
    'PodReadyToStartContainers=False PodSandboxNotReady',
    'Initialized=False ContainersNotInitialized',
    'Ready=False ContainersNotReady',
    'ContainersReady=False ContainersNotReady',
    'PodScheduled=True',
  ]);
  assert.equal(status.conditions?.[0]?.message, 'no pod sandbox exists');
  assert.equal(status.conditions?.[1]?.message, 'containers with incomplete status: [prepare]');
  assert.equal(status.conditions?.[3]?.message, 'containers with unready status: [app]');
});

test('a condition’s transition time changes only with its status', () => {
  const first = statusOf();
  const later = statusOf({ previous: first, nowMs: nowMs + 60_000 });
  assert.deepEqual(later.conditions, first.conditions);
  const down = statusOf({ previous: first, nowMs: nowMs + 60_000, status: aRuntimePodStatus({ containers: [anExitedContainer(1)] }) });
  const times = Object.fromEntries((down.conditions ?? []).map(({ type, lastTransitionTime }) => [type, lastTransitionTime]));
  assert.equal(times.Ready, '2026-01-01T00:01:00Z');
  assert.equal(times.PodScheduled, '2026-01-01T00:00:00Z');
  assert.equal(down.startTime, first.startTime);
});

test('a pod never leaves a terminal phase', () => {
  const previous = { ...statusOf(), phase: 'Failed', reason: 'Evicted', message: 'too much memory' };
  const status = statusOf({ previous });
  assert.deepEqual([status.phase, status.reason, status.message], ['Failed', 'Evicted', 'too much memory']);
  assert.equal(statusOf({ pod: aPod({ status: { phase: 'Succeeded' } }) }).phase, 'Succeeded');
});

test('a pod that ends as Failed shows the reason', () => {
  const failed = { reason: 'DeadlineExceeded', message: 'Pod was active on the node longer than the specified deadline' };
  const status = statusOf({ lifecycle: { terminating: true, ended: false, failed } });
  assert.deepEqual([status.phase, status.reason], ['Failed', 'DeadlineExceeded']);
  assert.ok(conditionsOf(status).includes('Ready=False PodFailed'));
});

test('a pod for which the runtime does not respond shows that until the runtime responds again', () => {
  const failure = { reason: failureReasons.container, message: 'status of container app (c1): no answer for 2000 ms' };
  const wedged = statusOf({ status: aRuntimePodStatus({ containers: [aRuntimeContainer()], failure }) });
  assert.deepEqual([wedged.phase, wedged.reason, wedged.message], ['Running', failure.reason, failure.message]);
  assert.equal(statusOf({ previous: wedged }).reason, undefined);
  // The API server returns the reason that the kubelet wrote.
  const answering = statusOf({ previous: wedged, pod: aPod({ status: wedged }) });
  assert.deepEqual([answering.reason, answering.message], [undefined, undefined]);
  const reported = { phase: 'Running', reason: 'NodeLost', message: 'the node did not answer' };
  assert.equal(statusOf({ pod: aPod({ status: reported }) }).reason, 'NodeLost');
});

test('a container that could not be started shows the start time that the runtime has, 0', () => {
  const unstarted = anExitedContainer(128, { reason: 'StartError', startedAtMs: 0 });
  const { terminated } = statusOf({ status: aRuntimePodStatus({ containers: [unstarted] }) }).containerStatuses?.[0]?.state ?? {};
  assert.deepEqual([terminated?.reason, terminated?.startedAt], ['StartError', '1970-01-01T00:00:00Z']);
});

test('containers that a restarted kubelet knows only from lists keep their previous status unless their state changed', () => {
  const ended = anExitedContainer(3, { id: 'c1' as ContainerID });
  const running = aRuntimeContainer({ id: 'c2' as ContainerID, restartCount: 1, createdAtMs: ended.createdAtMs + 1 });
  const reported = statusOf({ status: aRuntimePodStatus({ containers: [running, ended] }) });
  const failure = { reason: failureReasons.container, message: 'no answer' };
  const unknown = { listedOnly: true, startedAtMs: 0, finishedAtMs: 0, exitCode: 137, imageRef: '' } as const;
  const listed = (containers: readonly RuntimeContainerStatus[], state: 'ready' | 'notReady' = 'ready') =>
    statusOf({
      pod: aPod({ status: reported }),
      status: aRuntimePodStatus({
        podIPs: [],
        sandboxes: [aSandbox({ state, podIPs: [], listedOnly: true })],
        containers: containers.map((container) => ({ ...container, ...unknown })),
        failure,
      }),
    });
  assert.deepEqual(listed([running, ended]), { ...reported, reason: failure.reason, message: failure.message });
  // One container terminated while no kubelet ran, one disappeared.
  assert.deepEqual(listed([{ ...running, state: 'exited' }, ended]).containerStatuses?.[0]?.state?.terminated?.exitCode, 137);
  assert.deepEqual(listed([running]).containerStatuses, reported.containerStatuses);
  assert.ok(conditionsOf(listed([running, ended], 'notReady')).includes('PodReadyToStartContainers=False PodSandboxNotReady'));
  // The container waited for its back-off: the termination is its last state.
  const waiting = { app: { reason: 'CrashLoopBackOff', message: 'back-off 10s' } };
  const backingOff = statusOf({ status: aRuntimePodStatus({ containers: [ended] }), waiting });
  const again = statusOf({
    pod: aPod({ status: backingOff }),
    status: aRuntimePodStatus({ containers: [{ ...ended, ...unknown }], failure }),
    waiting,
  });
  assert.deepEqual(again.containerStatuses, backingOff.containerStatuses);
});

test('a container that ended while no kubelet ran gives its pod no phase before the runtime says how', () => {
  const listed = anExitedContainer(137, { id: 'c1' as ContainerID, listedOnly: true });
  for (const [exitCode, phase] of [
    [0, 'Succeeded'],
    [3, 'Failed'],
  ] as const) {
    const pod = aPod({ spec: { restartPolicy: 'Never' }, status: { phase: 'Running' } });
    const before = statusOf({ pod, status: aRuntimePodStatus({ containers: [listed] }) });
    assert.equal(before.phase, 'Running');
    const answered = aRuntimePodStatus({ containers: [anExitedContainer(exitCode, { id: 'c1' as ContainerID })] });
    assert.equal(statusOf({ pod, previous: before, status: answered }).phase, phase);
    // A pod that has ended gets a phase without an answer.
    const ended = { terminating: true, ended: true };
    assert.equal(
      statusOf({ pod, previous: before, status: aRuntimePodStatus({ containers: [listed] }), lifecycle: ended }).phase,
      'Failed',
    );
  }
});

test('a terminated pod shows no container as running or waiting', () => {
  const previous = statusOf();
  const status = statusOf({ status: null, previous, lifecycle: { terminating: true, ended: true } });
  assert.deepEqual(status.containerStatuses?.[0]?.state?.terminated?.reason, 'ContainerStatusUnknown');
  assert.equal(status.containerStatuses?.[0]?.ready, false);
});

test('foreign conditions are kept and satisfy readiness gates', () => {
  const foreign = { type: 'example.com/switched', status: 'False' };
  const pod = aPod({
    spec: { readinessGates: [{ conditionType: 'example.com/switched' }] },
    status: { conditions: [foreign, { type: 'Ready', status: 'True' }] },
  });
  const status = statusOf({ pod });
  assert.deepEqual(status.conditions?.[0], foreign);
  assert.ok(conditionsOf(status).includes('Ready=False ReadinessGatesNotReady'));
  assert.ok(conditionsOf(status).includes('ContainersReady=True'));
});

const addressCases = [
  {
    name: 'one address per family, the node’s family first',
    hostIPs: ['2001:db8::1'],
    podIPs: ['10.0.0.7', 'fd00::7', '10.0.0.8'],
    want: 'fd00::7,10.0.0.7',
  },
  {
    name: 'the node’s addresses for a hostNetwork pod',
    hostIPs: ['192.0.2.1', '2001:db8::1'],
    podIPs: [],
    hostNetwork: true,
    want: '192.0.2.1,2001:db8::1',
  },
  { name: 'no address before the sandbox has one', hostIPs: ['192.0.2.1'], podIPs: [], want: '' },
];
for (const { name, hostIPs, podIPs, hostNetwork = false, want } of addressCases) {
  test(`a pod’s addresses: ${name}`, () => {
    const status = aRuntimePodStatus({ podIPs, sandboxes: [aSandbox({ podIPs, hostNetwork })] });
    const got = statusOf({ pod: aPod({ spec: { hostNetwork } }), status, node: { hostIPs, runtimeName: 'containerd' } });
    assert.equal((got.podIPs ?? []).map(({ ip }) => ip).join(','), want);
  });
}

const askingForAll = aContainer({
  name: 'watcher',
  restartPolicy: 'Never',
  restartPolicyRules: [{ action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [42] } }],
});
const prepared = aContainer({ name: 'prepare' });

/** Generates the pod’s status repeatedly, each from the previous one. */
function statusesAfter(inspections: readonly (readonly RuntimeContainerStatus[])[], fields: Partial<ApiStatusInput> = {}): PodStatus[] {
  const pod = aPod({ spec: { restartPolicy: 'Never', initContainers: [prepared], containers: [aContainer(), askingForAll] } });
  let previous: PodStatus | undefined;
  return inspections.map((containers) => (previous = statusOf({ pod, previous, status: aRuntimePodStatus({ containers }), ...fields })));
}

const run = (name: string, restartCount = 0) => aRuntimeContainer({ name, restartCount, id: `${name}-${restartCount}` as ContainerID });
const ended = (name: string, exitCode: number) => anExitedContainer(exitCode, { name, id: `${name}-0` as ContainerID });

test('a RestartAllContainers rule restarts the whole pod, which stays Running meanwhile', () => {
  const inspections = [
    [run('app'), run('watcher'), ended('prepare', 0)],
    [run('app'), ended('watcher', 42), ended('prepare', 0)],
    [ended('watcher', 42)],
    // More statuses may be generated before the last container is removed.
    [ended('watcher', 42)],
    [ended('watcher', 42)],
    [],
    [run('prepare', 1)],
    [run('app', 1), run('watcher', 1)],
  ];
  const statuses = statusesAfter(inspections);
  const restarting = statuses.map((status) => conditionsOf(status).find((condition) => condition.startsWith('AllContainersRestarting')));
  const started = 'AllContainersRestarting=True RestartAllContainersStarted';
  const none = 'AllContainersRestarting=False';
  assert.deepEqual(restarting, [none, started, started, started, started, none, none, none]);
  assert.deepEqual(
    statuses.map(({ phase }) => phase),
    ['Running', 'Running', 'Running', 'Running', 'Running', 'Running', 'Pending', 'Running'],
  );
  assert.ok(statuses.every((status) => conditionsOf(status).includes('Initialized=True')));
  const app = statuses.map(({ containerStatuses }) => containerStatuses?.find(({ name }) => name === 'app'));
  assert.deepEqual(
    app.map((status) => [status?.state?.waiting?.reason, status?.restartCount, status?.lastState?.terminated?.reason]),
    [
      [undefined, 0, undefined],
      [undefined, 0, undefined],
      ['RestartingAllContainers', 1, 'RestartingAllContainers'],
      ['PodInitializing', 1, 'RestartingAllContainers'],
      ['PodInitializing', 1, 'RestartingAllContainers'],
      ['PodInitializing', 1, 'RestartingAllContainers'],
      ['PodInitializing', 1, 'RestartingAllContainers'],
      [undefined, 1, 'RestartingAllContainers'],
    ],
  );
  assert.deepEqual(
    statuses.map(({ initContainerStatuses }) => initContainerStatuses?.[0]?.restartCount),
    [0, 0, 1, 1, 1, 1, 1, 1],
  );
});

test('an exit code that matches no rule restarts only what the restart policy says', () => {
  const [, after] = statusesAfter([
    [run('app'), run('watcher')],
    [run('app'), ended('watcher', 1)],
  ]);
  assert.ok(conditionsOf(after!).includes('AllContainersRestarting=False'));
});

test('the condition exists only with such a rule and the feature gate', () => {
  const has = (status: PodStatus) => status.conditions?.some(({ type }) => type === 'AllContainersRestarting') ?? false;
  assert.equal(has(statusOf()), false);
  const [off] = statusesAfter([[run('app'), ended('watcher', 42)]], {
    restartGates: { containerRestartRules: true, restartAllContainersOnContainerExits: false },
  });
  assert.equal(has(off!), false);
});
