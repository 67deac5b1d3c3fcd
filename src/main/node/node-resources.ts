/**
 * What the node has, and what of it pods may use: pure. Upstream: GetNodeAllocatableReservation in
 * pkg/kubelet/cm/node_container_manager_linux.go: what is reserved for the system and for Kubernetes, and the memory and disk that
 * hard eviction keeps free, is not the pods'.
 */
import type { NodeResources } from '../../shared/contracts/node-facts.ts';
import type { MachineInfo } from '../../shared/contracts/stats.ts';
import { milliValue, value } from '../../shared/kubernetes/quantity.ts';
import type { KubeletConfiguration, StringMap } from '../config/kubelet-configuration.ts';

type Settings = Pick<KubeletConfiguration, 'systemReserved' | 'kubeReserved' | 'evictionHard' | 'maxPods' | 'podsPerCore'>;

export function nodeCapacity(machine: MachineInfo, { maxPods, podsPerCore }: Settings): NodeResources {
  const podsByCore = podsPerCore > 0 ? podsPerCore * machine.numCores : Infinity;
  return {
    milliCPU: machine.numCores * 1000,
    memoryBytes: machine.memoryBytes,
    ephemeralStorageBytes: machine.rootFsCapacityBytes,
    pods: Math.min(maxPods, podsByCore),
  };
}

export function nodeAllocatable(capacity: NodeResources, { systemReserved, kubeReserved, evictionHard }: Settings): NodeResources {
  const reserved = (resource: string, amount: (quantity: string | undefined) => number) =>
    amount(systemReserved[resource]) + amount(kubeReserved[resource]);
  const left = (total: number, ...taken: number[]) => Math.max(0, total - taken.reduce((sum, one) => sum + one, 0));
  return {
    milliCPU: left(capacity.milliCPU, reserved('cpu', milliValue)),
    memoryBytes: left(capacity.memoryBytes, reserved('memory', value), threshold(evictionHard, 'memory.available', capacity.memoryBytes)),
    ephemeralStorageBytes: left(
      capacity.ephemeralStorageBytes,
      reserved('ephemeral-storage', value),
      threshold(evictionHard, 'nodefs.available', capacity.ephemeralStorageBytes),
    ),
    pods: capacity.pods,
  };
}

/** A hard eviction threshold in bytes: a quantity, or a share of the total. */
function threshold(evictionHard: StringMap, signal: string, totalBytes: number): number {
  const text = evictionHard[signal];
  if (text === undefined) return 0;
  return text.endsWith('%') ? Math.floor((totalBytes * Number.parseFloat(text)) / 100) : value(text);
}
