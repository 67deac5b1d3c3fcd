/** Allocations on a modelled node that make what is allocated more than the node has, or enlarge such an excess. */
import { withAllocation, type PodAllocation } from '../../../src/main/allocation/pod-allocation.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { podRequests } from '../../../src/shared/kubernetes/pod-resources.ts';
import { milliValue, value } from '../../../src/shared/kubernetes/quantity.ts';
import type { ModelMachine, RoomForPods } from './model-machine.ts';
import type { ModelRuntime } from './model-runtime.ts';

export interface AllocatedNode {
  readonly pods: readonly Pod[];
  readonly runtime: ModelRuntime;
  readonly machine: ModelMachine;
  /** They don't count for the pod that they end for, also when they don't end in time. */
  readonly preempted: ReadonlySet<string>;
}

export const modelGates = { podLevel: true, initContainers: true, memoryBackedVolumes: true };
/** More than from a decision to its write: the disk may be full. */
const writtenWithinMs = 60_000;

export class Excesses {
  readonly #node: AllocatedNode;
  #before: ReadonlyMap<string, RoomForPods> | undefined;

  constructor(node: AllocatedNode) {
    this.#node = node;
  }

  /** Compares with the allocations of the last call. */
  find(allocations: ReadonlyMap<string, PodAllocation>): readonly string[] {
    const { pods, runtime, machine, preempted } = this.#node;
    const before = this.#before;
    const known = pods.filter(({ metadata }) => allocations.has(metadata.uid) && !preempted.has(metadata.uid));
    const amounts = new Map(known.map((pod) => [pod.metadata.uid, requestsOf(pod, allocations)]));
    this.#before = amounts;
    if (!before) return [];
    const running = new Set(runtime.running().map(({ sandbox }) => sandbox.podUID));
    const room = machine.mostWithin(writtenWithinMs);
    return (['cpu', 'memory'] as const).flatMap((name) => {
      const grown = [...amounts].flatMap(([uid, amount]) => (amount[name] > (before.get(uid)?.[name] ?? Infinity) ? [uid] : []));
      const counted = [...amounts].filter(([uid]) => grown.includes(uid) || running.has(uid));
      const sum = counted.reduce((total, [, amount]) => total + amount[name], 0);
      if (grown.length === 0 || sum <= room[name]) return [];
      return [`${grown.join()} got more ${name}; ${sum} are allocated to ${counted.map(([uid]) => uid).join()}`];
    });
  }
}

/** Returns nothing for a pod without an allocation. */
export function requestsOf(pod: Pod, allocations: ReadonlyMap<string, PodAllocation>): RoomForPods {
  const allocation = allocations.get(pod.metadata.uid);
  const requests = allocation ? podRequests(withAllocation(pod, allocation, modelGates), {}) : {};
  return { cpu: milliValue(requests['cpu']), memory: value(requests['memory']) };
}
