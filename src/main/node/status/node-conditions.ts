/**
 * Computes the node's conditions. Conditions of other writers stay unchanged and in place. Pure. Upstream: the condition setters in
 * pkg/kubelet/nodestatus/setters.go.
 */
import { isReadyCondition } from '../../../shared/kubernetes/ready-condition.ts';
import type { NodeCondition, NodeEvent, ResourceList } from '../node-object.ts';

export interface Pressures {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

export interface ConditionInputs {
  /** In the API's time format. */
  readonly now: string;
  readonly nodeName: string;
  readonly pressures: Pressures;
  /** The reasons for which the node is not ready, in upstream's order: runtime, network, storage, shutdown. */
  readonly problems: readonly string[];
  /** What the host lacks although the node can be ready without it. */
  readonly softRequirementErrors: readonly string[];
  readonly capacity: ResourceList;
  readonly localStorageCapacityIsolation: boolean;
}

export interface Conditions {
  readonly conditions: readonly NodeCondition[];
  readonly events: readonly NodeEvent[];
}

interface PressureCondition {
  readonly type: string;
  readonly resource: keyof Pressures;
  readonly under: readonly [reason: string, message: string, event: string];
  readonly relieved: readonly [reason: string, message: string, event: string];
}

/** The order in which conditions are added. Ready comes last, because controllers of other versions depend on that. */
const pressureConditions: readonly PressureCondition[] = [
  {
    type: 'MemoryPressure',
    resource: 'memory',
    under: ['KubeletHasInsufficientMemory', 'kubelet has insufficient memory available', 'NodeHasInsufficientMemory'],
    relieved: ['KubeletHasSufficientMemory', 'kubelet has sufficient memory available', 'NodeHasSufficientMemory'],
  },
  {
    type: 'DiskPressure',
    resource: 'disk',
    under: ['KubeletHasDiskPressure', 'kubelet has disk pressure', 'NodeHasDiskPressure'],
    relieved: ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure', 'NodeHasNoDiskPressure'],
  },
  {
    type: 'PIDPressure',
    resource: 'pid',
    under: ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available', 'NodeHasInsufficientPID'],
    relieved: ['KubeletHasSufficientPID', 'kubelet has sufficient PID available', 'NodeHasSufficientPID'],
  },
];

export function computeConditions(existing: readonly NodeCondition[], inputs: ConditionInputs): Conditions {
  const conditions = [...existing];
  const events: NodeEvent[] = [];
  const setCondition = (condition: NodeCondition) => {
    const existingIndex = conditions.findIndex(({ type }) => type === condition.type);
    if (existingIndex < 0) conditions.push(condition);
    else conditions[existingIndex] = condition;
  };
  for (const pressure of pressureConditions) {
    const previous = existing.find(({ type }) => type === pressure.type);
    const status = inputs.pressures[pressure.resource] ? 'True' : 'False';
    if (previous?.status === status) {
      setCondition({ ...previous, lastHeartbeatTime: inputs.now });
      continue;
    }
    const [reason, message, event] = inputs.pressures[pressure.resource] ? pressure.under : pressure.relieved;
    setCondition({
      ...previous,
      type: pressure.type,
      status,
      reason,
      message,
      lastHeartbeatTime: inputs.now,
      lastTransitionTime: inputs.now,
    });
    events.push(statusEvent(inputs.nodeName, event));
  }
  const previous = existing.find(isReadyCondition);
  const ready = readyCondition(previous, inputs);
  setCondition(ready);
  if (previous && previous.status !== ready.status) {
    events.push(statusEvent(inputs.nodeName, ready.status === 'True' ? 'NodeReady' : 'NodeNotReady'));
  }
  return { conditions, events };
}

function readyCondition(previous: NodeCondition | undefined, inputs: ConditionInputs): NodeCondition {
  const { now, capacity } = inputs;
  const required = ['cpu', 'memory', 'pods', ...(inputs.localStorageCapacityIsolation ? ['ephemeral-storage'] : [])];
  const missing = required.filter((name) => !Object.hasOwn(capacity, name));
  const problems = [...inputs.problems, ...(missing.length === 0 ? [] : [`missing node capacity for resources: ${missing.join(', ')}`])];
  const status = problems.length === 0 ? 'True' : 'False';
  const hasTransitioned = previous?.status !== status;
  return {
    type: 'Ready',
    status,
    lastHeartbeatTime: now,
    lastTransitionTime: hasTransitioned ? now : (previous?.lastTransitionTime ?? now),
    reason: problems.length === 0 ? 'KubeletReady' : 'KubeletNotReady',
    message: [
      problems.length === 0 ? 'kubelet is posting ready status' : aggregate(problems),
      ...inputs.softRequirementErrors.map((error) => `WARNING: ${error}`),
    ].join('. '),
  };
}

/** Joins distinct problems to one message. Upstream: apimachinery's Aggregate. */
function aggregate(problems: readonly string[]): string {
  const distinct = [...new Set(problems)];
  return distinct.length === 1 ? distinct[0]! : `[${distinct.join(', ')}]`;
}

/** Returns the event for a changed node state, with upstream's message. */
export function statusEvent(nodeName: string, reason: string): NodeEvent {
  return { type: 'Normal', reason, message: `Node ${nodeName} status is now: ${reason}` };
}
