import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeConditions, type ConditionInputs } from '../../../../../src/main/node/status/node-conditions.ts';
import type { NodeCondition } from '../../../../../src/main/node/node-object.ts';
import { table } from '../../../../support/table.ts';

const inputs: ConditionInputs = {
  now: 't9',
  nodeName: 'n1',
  pressures: { memory: false, disk: false, pid: false },
  problems: [],
  softRequirementErrors: [],
  capacity: { cpu: '1', memory: '1', pods: '1', 'ephemeral-storage': '1' },
  localStorageCapacityIsolation: true,
};
const summary = ({ type, status, reason, message, lastTransitionTime, lastHeartbeatTime }: NodeCondition) =>
  `${type}=${status} ${reason}: ${message} (${String(lastTransitionTime)}, ${String(lastHeartbeatTime)})`;
const known = computeConditions([], { ...inputs, now: 't1' }).conditions;

test('a new node has four conditions, Ready last, and events for its lack of pressure', () => {
  const { conditions, events } = computeConditions([], inputs);
  assert.deepEqual(conditions.map(summary), [
    'MemoryPressure=False KubeletHasSufficientMemory: kubelet has sufficient memory available (t9, t9)',
    'DiskPressure=False KubeletHasNoDiskPressure: kubelet has no disk pressure (t9, t9)',
    'PIDPressure=False KubeletHasSufficientPID: kubelet has sufficient PID available (t9, t9)',
    'Ready=True KubeletReady: kubelet is posting ready status (t9, t9)',
  ]);
  assert.deepEqual(
    events.map(({ reason, message }) => [reason, message]),
    ['NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID'].map((event) => [event, `Node n1 status is now: ${event}`]),
  );
});

test('an unchanged node only updates its heartbeat times', () => {
  const { conditions, events } = computeConditions(known, inputs);
  assert.deepEqual(
    conditions,
    known.map((condition) => ({ ...condition, lastHeartbeatTime: 't9' })),
  );
  assert.deepEqual(events, []);
});

test('the condition of another writer keeps its position and its times', () => {
  const foreign = { type: 'NetworkUnavailable', status: 'False', lastHeartbeatTime: 't0', lastTransitionTime: 't0' };
  const [memory, ...others] = known;
  const { conditions } = computeConditions([memory!, foreign, ...others], inputs);
  assert.deepEqual(
    conditions.map(({ type }) => type),
    ['MemoryPressure', 'NetworkUnavailable', 'DiskPressure', 'PIDPressure', 'Ready'],
  );
  assert.deepEqual(conditions[1], foreign);
});

const transitions: { name: string; given: Partial<ConditionInputs>; from?: readonly NodeCondition[]; want: string; events: string[] }[] = [
  {
    name: 'a host without a soft requirement is ready with a warning',
    given: { softRequirementErrors: ['CPU hardcapping unsupported'] },
    want: 'Ready=True KubeletReady: kubelet is posting ready status. WARNING: CPU hardcapping unsupported (t1, t9)',
    events: [],
  },
  {
    name: 'a node without a ready network has a reason',
    given: { problems: ['container runtime network not ready: NetworkReady=false reason:R message:M'] },
    want: 'Ready=False KubeletNotReady: container runtime network not ready: NetworkReady=false reason:R message:M (t9, t9)',
    events: ['NodeNotReady'],
  },
  {
    name: 'several problems are joined in one message, each once',
    given: { problems: ['container runtime is down', 'node is shutting down', 'container runtime is down'] },
    want: 'Ready=False KubeletNotReady: [container runtime is down, node is shutting down] (t9, t9)',
    events: ['NodeNotReady'],
  },
  {
    name: 'a node without a known capacity is not ready',
    given: { capacity: { cpu: '1', pods: '1' } },
    want: 'Ready=False KubeletNotReady: missing node capacity for resources: memory, ephemeral-storage (t9, t9)',
    events: ['NodeNotReady'],
  },
  {
    name: 'a node that becomes ready again records an event',
    given: {},
    from: computeConditions([], { ...inputs, now: 't1', problems: ['x'] }).conditions,
    want: 'Ready=True KubeletReady: kubelet is posting ready status (t9, t9)',
    events: ['NodeReady'],
  },
  {
    name: 'a node with a new problem keeps its transition time',
    given: { problems: ['y'] },
    from: computeConditions([], { ...inputs, now: 't1', problems: ['x'] }).conditions,
    want: 'Ready=False KubeletNotReady: y (t1, t9)',
    events: [],
  },
  {
    name: 'a node under memory pressure records an event',
    given: { pressures: { memory: true, disk: false, pid: false } },
    want: 'MemoryPressure=True KubeletHasInsufficientMemory: kubelet has insufficient memory available (t9, t9)',
    events: ['NodeHasInsufficientMemory'],
  },
  {
    name: 'a node under disk pressure records an event',
    given: { pressures: { memory: false, disk: true, pid: false } },
    want: 'DiskPressure=True KubeletHasDiskPressure: kubelet has disk pressure (t9, t9)',
    events: ['NodeHasDiskPressure'],
  },
  {
    name: 'a node under PID pressure records an event',
    given: { pressures: { memory: false, disk: false, pid: true } },
    want: 'PIDPressure=True KubeletHasInsufficientPID: kubelet has insufficient PID available (t9, t9)',
    events: ['NodeHasInsufficientPID'],
  },
];
table('conditions have a reason and a transition time', (row) => {
  for (const { name, given, from = known, want, events } of transitions) {
    row(name, () => {
      const computed = computeConditions(from, { ...inputs, ...given });
      assert.ok(computed.conditions.map(summary).includes(want), computed.conditions.map(summary).join('\n'));
      assert.deepEqual(
        computed.events.map(({ reason }) => reason),
        events,
      );
    });
  }
});
