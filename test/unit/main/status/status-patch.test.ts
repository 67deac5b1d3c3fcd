import assert from 'node:assert/strict';
import { test } from 'node:test';
import { statusPatch, toApiStatus } from '../../../../src/main/status/status-patch.ts';
import type { PodCondition, PodStatus } from '../../../../src/shared/kubernetes/api.ts';
import { aPod } from '../../../support/pods.ts';
import { table } from '../../../support/table.ts';

const ready = (status: string, fields: Partial<PodCondition> = {}): PodCondition => ({
  type: 'Ready',
  status,
  lastTransitionTime: '2026-01-01T00:00:00Z',
  ...fields,
});

function aBase(status: PodStatus) {
  return aPod({ metadata: { resourceVersion: '7' }, status });
}

/** The patch from `base` to what the kubelet says. */
function patchOf(base: PodStatus, status: PodStatus, { mayRun = false } = {}) {
  return statusPatch(aBase(base), toApiStatus(base, { status, couldHaveRunningContainers: mayRun }));
}

const running: PodStatus = { phase: 'Running', startTime: '2026-01-01T00:00:00Z', conditions: [ready('True')] };

const phases: { name: string; base: PodStatus; status: PodStatus; mayRun?: boolean; want: PodStatus }[] = [
  {
    name: 'a terminal phase is not told while a container may run',
    base: { phase: 'Running' },
    status: { phase: 'Failed', reason: 'Evicted', message: 'no room' },
    mayRun: true,
    want: { phase: 'Running' },
  },
  {
    name: 'a terminal phase is told with its reason once nothing runs',
    base: { phase: 'Running' },
    status: { phase: 'Failed', reason: 'Evicted', message: 'no room' },
    want: { phase: 'Failed', reason: 'Evicted', message: 'no room' },
  },
  {
    name: 'a terminal phase of somebody else stays, with its reason',
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
    name: 'the reason that somebody gave for the same terminal phase stays where the kubelet has none',
    base: { phase: 'Failed', reason: 'NodeLost', message: 'gone' },
    status: { phase: 'Failed' },
    want: { phase: 'Failed', reason: 'NodeLost', message: 'gone' },
  },
  {
    name: 'a start time that was told does not change, nor does the class',
    base: { phase: 'Pending', startTime: '2026-01-01T00:00:00Z', qosClass: 'Burstable' },
    status: { phase: 'Running', startTime: '2026-02-02T00:00:00Z', qosClass: 'BestEffort' },
    want: { phase: 'Running', startTime: '2026-01-01T00:00:00Z', qosClass: 'Burstable' },
  },
  {
    name: 'the observed generation does not fall',
    base: { observedGeneration: 3 },
    status: { phase: 'Running', observedGeneration: 2 },
    want: { phase: 'Running', observedGeneration: 3 },
  },
];
table('a pod’s phase on the server goes one way', (row) => {
  for (const { name, base, status, mayRun = false, want } of phases) {
    row(name, () => {
      const { conditions: _, ...next } = toApiStatus(base, { status, couldHaveRunningContainers: mayRun });
      assert.deepEqual(next, want);
    });
  }
});

test('what the API server has already is not written', () => {
  assert.equal(patchOf(running, running), null);
});

test('a transition time that differs alone is not written', () => {
  const other = { ...running, conditions: [ready('True', { lastTransitionTime: '2026-03-03T00:00:00Z' })] };
  assert.equal(patchOf(running, other), null);
});

test('what the server leaves out since it is empty is no difference', () => {
  const base = { ...running, containerStatuses: [{ name: 'app', image: 'x', imageID: '', ready: true, restartCount: 0, lastState: {} }] };
  const status = {
    ...running,
    containerStatuses: [{ ...base.containerStatuses[0]!, resources: {}, volumeMounts: [] }],
    initContainerStatuses: [],
  };
  assert.equal(patchOf(base, status), null);
});

test('a pod that others have ended is not called ready', () => {
  const conditions = [ready('True'), { type: 'ContainersReady', status: 'True' }, { type: 'Initialized', status: 'True' }];
  const base = { phase: 'Failed', conditions: [ready('False')] };
  assert.deepEqual(patchOf(base, { phase: 'Running', conditions }, { mayRun: true })?.status, { conditions: [conditions[2]] });
  const told = [ready('False', { reason: 'PodFailed' })];
  assert.deepEqual(patchOf(base, { phase: 'Failed', conditions: told }, { mayRun: true })?.status, { conditions: told });
});

test('a patch names the UID that it is for, and the version too when it changes the phase', () => {
  assert.deepEqual(patchOf({ phase: 'Pending' }, { phase: 'Running' }), {
    metadata: { uid: 'uid-web', resourceVersion: '7' },
    status: { phase: 'Running' },
  });
  assert.deepEqual(patchOf(running, { ...running, podIP: '10.0.0.7' })?.metadata, { uid: 'uid-web' });
});

test('conditions of others are not in the patch, and those of the kubelet only where they changed', () => {
  const base = { ...running, conditions: [ready('True'), { type: 'example.com/gate', status: 'False' }] };
  const status = {
    ...running,
    conditions: [ready('False', { reason: 'ContainersNotReady' }), { type: 'example.com/gate', status: 'True' }],
  };
  assert.deepEqual(patchOf(base, status)?.status, { conditions: [ready('False', { reason: 'ContainersNotReady' })] });
});

test('a condition that has lost its reason and message loses them there', () => {
  const base = { ...running, conditions: [ready('False', { reason: 'ContainersNotReady', message: 'app' })] };
  assert.deepEqual(patchOf(base, running)?.status, { conditions: [{ ...ready('True'), reason: null, message: null }] });
});

test('why the kubelet disrupted a pod is told together with its end, not before', () => {
  const disruption: PodCondition = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' };
  const status: PodStatus = { phase: 'Failed', conditions: [disruption] };
  assert.deepEqual(patchOf({ phase: 'Running' }, status, { mayRun: true }), null);
  assert.deepEqual(patchOf({ phase: 'Running' }, status)?.status, { phase: 'Failed', conditions: [disruption] });
});

test('addresses replace those that were there; the host’s stay while the node knows none', () => {
  const base = { ...running, podIP: '10.0.0.1', podIPs: [{ ip: '10.0.0.1' }], hostIP: '192.0.2.1', hostIPs: [{ ip: '192.0.2.1' }] };
  assert.deepEqual(patchOf(base, { ...running, podIP: '10.0.0.2', podIPs: [{ ip: '10.0.0.2' }] })?.status, {
    podIP: '10.0.0.2',
    podIPs: [{ ip: '10.0.0.2' }, { $patch: 'replace' }],
  });
});

test('what the pod has not any more is removed', () => {
  assert.deepEqual(patchOf({ ...running, reason: 'Wedged', message: 'x', podIP: '10.0.0.1' }, running)?.status, {
    reason: null,
    message: null,
    podIP: null,
  });
});

const resourcePatches: { name: string; base: PodStatus; status: PodStatus; want: unknown }[] = [
  { name: 'empty resources are shown', base: {}, status: { resources: {} }, want: { resources: {} } },
  { name: 'empty resources that are shown are no news', base: { resources: {} }, status: { resources: {} }, want: null },
  {
    name: 'what is gone from a map is removed from it',
    base: { resources: { requests: { cpu: '1', memory: '1Gi' }, limits: { cpu: '1' } }, allocatedResources: { cpu: '1', memory: '1Gi' } },
    status: { resources: { requests: { cpu: '2' } }, allocatedResources: { cpu: '2' } },
    want: { resources: { requests: { cpu: '2', memory: null }, limits: null }, allocatedResources: { cpu: '2', memory: null } },
  },
  {
    name: 'resources that are not said any more go',
    base: { allocatedResources: { cpu: '1' } },
    status: {},
    want: { allocatedResources: null },
  },
];
table('the resources of a pod in its patch', (row) => {
  for (const { name, base, status, want } of resourcePatches)
    row(name, () => assert.deepEqual(patchOf(base, status)?.status ?? null, want));
});

test('a resize that is over is removed from the conditions, and nothing else is', () => {
  const pending: PodCondition = { type: 'PodResizePending', status: 'True', reason: 'Infeasible' };
  const base = {
    phase: 'Running',
    conditions: [pending, { ...pending, type: 'PodResizeInProgress' }, { ...pending, type: 'Else' }, ready('True')],
  };
  assert.deepEqual(patchOf(base, { phase: 'Running', conditions: [] }, { mayRun: true })?.status, {
    conditions: [
      { type: 'PodResizePending', $patch: 'delete' },
      { type: 'PodResizeInProgress', $patch: 'delete' },
    ],
  });
  assert.equal(
    patchOf(base, { phase: 'Running', conditions: [pending, { ...pending, type: 'PodResizeInProgress' }] }, { mayRun: true }),
    null,
  );
});
