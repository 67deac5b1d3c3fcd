import assert from 'node:assert/strict';
import { test } from 'node:test';
import { patchedStatus, statusPatch, toApiStatus } from '../../../../../src/main/pods/status/status-patch.ts';
import type { PodCondition, PodStatus } from '../../../../../src/shared/kubernetes/api.ts';
import { aPod } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const ready = (status: string, fields: Partial<PodCondition> = {}): PodCondition => ({
  type: 'Ready',
  status,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  ...fields,
});

function aBase(status: PodStatus) {
  return aPod({ metadata: { resourceVersion: '7' }, status });
}

/** The patch from `base` to the kubelet's status. */
function patchOf(base: PodStatus, status: PodStatus, { couldHaveRunningContainers = false } = {}) {
  return statusPatch(aBase(base), toApiStatus(base, { status, couldHaveRunningContainers }));
}

const running: PodStatus = { phase: 'Running', startTime: '2026-01-01T00:00:00Z', conditions: [ready('True')] };

const phases: { name: string; base: PodStatus; status: PodStatus; couldHaveRunningContainers?: boolean; want: PodStatus }[] = [
  {
    name: 'a terminal phase is withheld while a container may run',
    base: { phase: 'Running' },
    status: { phase: 'Failed', reason: 'Evicted', message: 'no room' },
    couldHaveRunningContainers: true,
    want: { phase: 'Running' },
  },
  {
    name: 'a terminal phase is reported with its reason once nothing runs',
    base: { phase: 'Running' },
    status: { phase: 'Failed', reason: 'Evicted', message: 'no room' },
    want: { phase: 'Failed', reason: 'Evicted', message: 'no room' },
  },
  {
    name: 'a terminal phase from another writer is kept with its reason',
    base: { phase: 'Failed', reason: 'NodeLost' },
    status: { phase: 'Running' },
    want: { phase: 'Failed', reason: 'NodeLost' },
  },
  {
    name: 'Succeeded does not become Failed',
    base: { phase: 'Succeeded' },
    status: { phase: 'Failed', reason: 'DeadlineExceeded' },
    want: { phase: 'Succeeded' },
  },
  {
    name: 'another writer’s reason for the same terminal phase is kept when the kubelet has none',
    base: { phase: 'Failed', reason: 'NodeLost', message: 'gone' },
    status: { phase: 'Failed' },
    want: { phase: 'Failed', reason: 'NodeLost', message: 'gone' },
  },
  {
    name: 'start time and QoS class do not change once set',
    base: { phase: 'Pending', startTime: '2026-01-01T00:00:00Z', qosClass: 'Burstable' },
    status: { phase: 'Running', startTime: '2026-02-02T00:00:00Z', qosClass: 'BestEffort' },
    want: { phase: 'Running', startTime: '2026-01-01T00:00:00Z', qosClass: 'Burstable' },
  },
  {
    name: 'the observed generation does not decrease',
    base: { observedGeneration: 3 },
    status: { phase: 'Running', observedGeneration: 2 },
    want: { phase: 'Running', observedGeneration: 3 },
  },
];
table('the phase on the server never leaves a terminal phase', (row) => {
  for (const { name, base, status, couldHaveRunningContainers = false, want } of phases) {
    row(name, () => {
      const { conditions: _, ...next } = toApiStatus(base, { status, couldHaveRunningContainers });
      assert.deepEqual(next, want);
    });
  }
});

const unhealthy: PodStatus['volumeHealth'] = [
  {
    name: 'data',
    healthConditions: [{ status: 'Degraded', reason: 'SlowPath', message: 'x' }],
    lastTransitionTime: '2026-01-01T00:00:00Z',
  },
];
const healthyAgain: PodStatus['volumeHealth'] = [{ name: 'data', healthConditions: [], lastTransitionTime: '2026-02-02T00:00:00Z' }];
table('the health of volumes', (row) => {
  const cases: [name: string, base: PodStatus['volumeHealth'], next: PodStatus['volumeHealth'], want: object | undefined][] = [
    ['is written as a whole', undefined, unhealthy, { volumeHealth: unhealthy }],
    ['is replaced', unhealthy, healthyAgain, { volumeHealth: healthyAgain }],
    ['of another writer is corrected', healthyAgain, unhealthy, { volumeHealth: unhealthy }],
    ['is not written again', unhealthy, unhealthy, undefined],
    [
      'is not written again to a server that omits empty lists',
      [{ name: 'data', lastTransitionTime: '2026-02-02T00:00:00Z' }],
      healthyAgain,
      undefined,
    ],
    ['that the kubelet does not own is kept', unhealthy, undefined, undefined],
  ];
  for (const [name, base, next, want] of cases) {
    const withHealth = (volumeHealth: PodStatus['volumeHealth']) => ({ ...running, ...(volumeHealth && { volumeHealth }) });
    row(name, () => assert.deepEqual(patchOf(withHealth(base), withHealth(next))?.status, want));
  }
});

test('an unchanged status is not written', () => {
  assert.equal(patchOf(running, running), null);
});

test('a change of only the transition time is not written', () => {
  const other = { ...running, conditions: [ready('True', { lastTransitionTime: '2026-03-03T00:00:00Z' })] };
  assert.equal(patchOf(running, other), null);
});

test('empty fields that the server omits are not a difference', () => {
  const base = { ...running, containerStatuses: [{ name: 'app', image: 'x', imageID: '', ready: true, restartCount: 0, lastState: {} }] };
  const status = {
    ...running,
    containerStatuses: [{ ...base.containerStatuses[0]!, resources: {}, volumeMounts: [] }],
    initContainerStatuses: [],
  };
  assert.equal(patchOf(base, status), null);
});

test('a pod with a foreign terminal phase is not reported as ready', () => {
  const conditions = [ready('True'), { type: 'ContainersReady', status: 'True' }, { type: 'Initialized', status: 'True' }];
  const base = { phase: 'Failed', conditions: [ready('False')] };
  assert.deepEqual(patchOf(base, { phase: 'Running', conditions }, { couldHaveRunningContainers: true })?.status, {
    conditions: [conditions[2]],
  });
  const notReady = [ready('False', { reason: 'PodFailed' })];
  assert.deepEqual(patchOf(base, { phase: 'Failed', conditions: notReady }, { couldHaveRunningContainers: true })?.status, {
    conditions: notReady,
  });
});

test('a patch carries the UID, and the resource version when it changes the phase', () => {
  assert.deepEqual(patchOf({ phase: 'Pending' }, { phase: 'Running' }), {
    metadata: { uid: 'uid-web', resourceVersion: '7' },
    status: { phase: 'Running' },
  });
  assert.deepEqual(patchOf(running, { ...running, podIP: '10.0.0.7' })?.metadata, { uid: 'uid-web' });
});

test('the patch contains only changed conditions of the kubelet', () => {
  const base = { ...running, conditions: [ready('True'), { type: 'example.com/gate', status: 'False' }] };
  const status = {
    ...running,
    conditions: [ready('False', { reason: 'ContainersNotReady' }), { type: 'example.com/gate', status: 'True' }],
  };
  assert.deepEqual(patchOf(base, status)?.status, { conditions: [ready('False', { reason: 'ContainersNotReady' })] });
});

test('a condition’s cleared reason and message are removed on the server', () => {
  const base = { ...running, conditions: [ready('False', { reason: 'ContainersNotReady', message: 'app' })] };
  assert.deepEqual(patchOf(base, running)?.status, { conditions: [{ ...ready('True'), reason: null, message: null }] });
});

test('DisruptionTarget is sent together with the terminal phase', () => {
  const disruption: PodCondition = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' };
  const status: PodStatus = { phase: 'Failed', conditions: [disruption] };
  assert.deepEqual(patchOf({ phase: 'Running' }, status, { couldHaveRunningContainers: true }), null);
  assert.deepEqual(patchOf({ phase: 'Running' }, status)?.status, { phase: 'Failed', conditions: [disruption] });
});

test('pod addresses are replaced; host addresses are kept while the node knows none', () => {
  const base = { ...running, podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }], hostIP: '192.0.2.1', hostIPs: [{ ip: '192.0.2.1' }] };
  assert.deepEqual(patchOf(base, { ...running, podIP: '10.0.0.2', podIPs: [{ ip: '10.0.0.2' }] })?.status, {
    podIP: '10.0.0.2',
    podIPs: [{ ip: '10.0.0.2' }, { $patch: 'replace' }],
  });
});

test('cleared fields are removed on the server', () => {
  assert.deepEqual(patchOf({ ...running, reason: 'Wedged', message: 'x', podIP: '10.0.0.1' }, running)?.status, {
    reason: null,
    message: null,
    podIP: null,
  });
});

const resourcePatches: { name: string; base: PodStatus; status: PodStatus; want: unknown }[] = [
  { name: 'empty resources are written', base: {}, status: { resources: {} }, want: { resources: {} } },
  { name: 'unchanged empty resources are not written', base: { resources: {} }, status: { resources: {} }, want: null },
  {
    name: 'removed map keys are set to null',
    base: { resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1' } }, allocatedResources: { cpu: '1', memory: '1Gi' } },
    status: { resources: { requests: { cpu: '2' } }, allocatedResources: { cpu: '2' } },
    want: { resources: { requests: { cpu: '2', memory: null }, limits: null }, allocatedResources: { cpu: '2', memory: null } },
  },
  {
    name: 'absent resources are removed',
    base: { allocatedResources: { cpu: '1' } },
    status: {},
    want: { allocatedResources: null },
  },
];
table('pod-level resources in the patch', (row) => {
  for (const { name, base, status, want } of resourcePatches)
    row(name, () => assert.deepEqual(patchOf(base, status)?.status ?? null, want));
});

test('only the resize conditions are removed when they are absent', () => {
  const pending: PodCondition = { type: 'PodResizePending', status: 'True', reason: 'Infeasible' };
  const base = {
    phase: 'Running',
    conditions: [pending, { ...pending, type: 'PodResizeInProgress' }, { ...pending, type: 'Else' }, ready('True')],
  };
  assert.deepEqual(patchOf(base, { phase: 'Running', conditions: [] }, { couldHaveRunningContainers: true })?.status, {
    conditions: [
      { type: 'PodResizePending', $patch: 'delete' },
      { type: 'PodResizeInProgress', $patch: 'delete' },
    ],
  });
  assert.equal(
    patchOf(
      base,
      { phase: 'Running', conditions: [pending, { ...pending, type: 'PodResizeInProgress' }] },
      { couldHaveRunningContainers: true },
    ),
    null,
  );
});

table('a patched status needs no further patch', (row) => {
  for (const { name, base, status, couldHaveRunningContainers = false } of phases)
    row(name, () => {
      const next = toApiStatus(base, { status, couldHaveRunningContainers });
      assert.equal(statusPatch(aBase(patchedStatus(aBase(base), next)), next), null);
    });
});
