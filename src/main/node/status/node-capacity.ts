/**
 * Computes the node's capacity and allocatable. Allocatable excludes the resources reserved for the system and for Kubernetes, the memory and
 * disk that hard eviction keeps free, and from memory the huge pages. Pure. Upstream: GetNodeAllocatableReservation in
 * pkg/kubelet/cm/node_container_manager_linux.go and MachineInfo in pkg/kubelet/nodestatus/setters.go.
 */
import type { NodeResources } from '../../../shared/contracts/node-info.ts';
import type { MachineInfo } from '../../../shared/contracts/stats.ts';
import {
  formatQuantity,
  milliValue,
  tryParseQuantity,
  quantityOf,
  toQuantity,
  value,
  type Quantity,
} from '../../../shared/kubernetes/quantity.ts';
import type { KubeletConfiguration, StringMap } from '../../config/kubelet-configuration.ts';
import type { KubeletFlags } from '../../config/options.ts';
import { isNoThreshold } from '../../config/no-threshold.ts';
import { isExtendedResource, isHugePages } from '../../../shared/kubernetes/resource-names.ts';
import type { ResourceList } from '../node-object.ts';

type Settings = Pick<KubeletConfiguration, 'systemReserved' | 'kubeReserved' | 'evictionHard' | 'maxPods' | 'podsPerCore'>;
export type ResourceSettings = Settings & Pick<KubeletConfiguration, 'localStorageCapacityIsolation'>;

/** With the flag experimental-allocatable-ignore-eviction, hard eviction thresholds do not reduce allocatable. */
export function resourceSettings<S extends Settings>(
  config: S,
  { experimentalAllocatableIgnoreEviction }: Pick<KubeletFlags, 'experimentalAllocatableIgnoreEviction'>,
): S {
  return experimentalAllocatableIgnoreEviction ? { ...config, evictionHard: {} } : config;
}

/** Returns the capacity as numbers, for pod syncs. */
export function nodeCapacity(machine: MachineInfo, settings: Settings): NodeResources {
  return {
    milliCPU: machine.numCores * 1000,
    memoryBytes: machine.memoryBytes,
    ephemeralStorageBytes: machine.rootFsCapacityBytes,
    pods: maxPods(machine, settings),
  };
}

export function nodeAllocatable(capacity: NodeResources, settings: Settings, hugePages: MachineInfo['hugePages'] = []): NodeResources {
  const { evictionHard } = settings;
  const reserved = (resource: string, amount: (quantity: string | undefined) => number) =>
    amount(settings.systemReserved[resource]) + amount(settings.kubeReserved[resource]);
  const remainder = (total: number, ...taken: number[]) => Math.max(0, total - taken.reduce((sum, amount) => sum + amount, 0));
  return {
    milliCPU: remainder(capacity.milliCPU, reserved('cpu', milliValue)),
    memoryBytes: remainder(
      capacity.memoryBytes,
      reserved('memory', value),
      threshold(evictionHard, 'memory.available', capacity.memoryBytes),
      hugePages.reduce((sum, { pageSizeKiB, pages }) => sum + pageSizeKiB * 1024 * pages, 0),
    ),
    ephemeralStorageBytes: remainder(
      capacity.ephemeralStorageBytes,
      reserved('ephemeral-storage', value),
      threshold(evictionHard, 'nodefs.available', capacity.ephemeralStorageBytes),
    ),
    pods: capacity.pods,
  };
}

/** Returns the capacity for the Node's status. Keeps existing resources that the kubelet does not measure. */
export function capacityList(existing: ResourceList, machine: MachineInfo, settings: ResourceSettings): ResourceList {
  const bytes = (count: number) => formatQuantity(quantityOf(count, 'BinarySI'));
  const hugePages = machine.hugePages.map(({ pageSizeKiB, pages }): [string, string] => [
    `hugepages-${bytes(pageSizeKiB * 1024)}`,
    bytes(pageSizeKiB * 1024 * pages),
  ]);
  return {
    ...existing,
    cpu: formatQuantity(quantityOf(machine.numCores)),
    memory: bytes(machine.memoryBytes),
    ...Object.fromEntries(hugePages),
    pods: String(maxPods(machine, settings)),
    ...(settings.localStorageCapacityIsolation ? { 'ephemeral-storage': formatQuantity(quantityOf(machine.rootFsCapacityBytes)) } : {}),
  };
}

/** Returns allocatable for the Node's status. An existing entry without capacity stays unless it is an extended resource. */
export function allocatableList(existing: ResourceList, capacity: ResourceList, settings: ResourceSettings): ResourceList {
  const keptEntries = Object.entries(existing).filter(([name]) => Object.hasOwn(capacity, name) || !isExtendedResource(name));
  const allocatable = Object.entries(capacity).flatMap(([name, text]): [string, Quantity][] => {
    const total = tryParseQuantity(text);
    return total ? [[name, subtract(total, reservation(name, total, settings))]] : [];
  });
  const list = new Map<string, Quantity>(allocatable);
  const memory = list.get('memory');
  if (memory) {
    const inPages = [...list.keys()].filter(isHugePages).flatMap((name) => tryParseQuantity(capacity[name]!) ?? []);
    list.set('memory', inPages.reduce(subtract, memory));
  }
  return { ...Object.fromEntries(keptEntries), ...Object.fromEntries([...list].map(([name, amount]) => [name, formatQuantity(amount)])) };
}

/** Returns the reserved amount of one resource in nanos. Pods and extended resources have no reservation. */
function reservation(name: string, total: Quantity, { systemReserved, kubeReserved, evictionHard }: Settings): bigint {
  const evictionSignals: Readonly<Record<string, string>> = { memory: 'memory.available', 'ephemeral-storage': 'nodefs.available' };
  const signal = evictionSignals[name];
  const evictionThreshold = signal === undefined ? 0 : threshold(evictionHard, signal, value(total));
  return toQuantity(systemReserved[name]).nanos + toQuantity(kubeReserved[name]).nanos + quantityOf(evictionThreshold).nanos;
}

/** Returns upstream's error when more is reserved than the machine has, or null (validateNodeAllocatable). */
export function excessiveReservations(machine: MachineInfo, settings: ResourceSettings): string | null {
  const { pods: _, ...capacity } = capacityList({}, machine, settings);
  const excesses = Object.entries(capacity).flatMap(([name, text]) => {
    const total = toQuantity(text);
    const reserved = reservation(name, total, settings);
    if (reserved <= total.nanos) return [];
    const amount = formatQuantity({ nanos: reserved, format: total.format });
    return [`Resource ${JSON.stringify(name)} has a reservation of ${amount} but capacity of ${text}. Expected capacity >= reservation.`];
  });
  return excesses.length === 0 ? null : `invalid Node Allocatable configuration. ${excesses.join(' ')}`;
}

/** Subtracts, but not below zero: a reservation may exceed the capacity. */
function subtract(total: Quantity, taken: bigint | Quantity): Quantity {
  const nanos = total.nanos - (typeof taken === 'bigint' ? taken : taken.nanos);
  return { nanos: nanos < 0n ? 0n : nanos, format: total.format };
}

function maxPods(machine: MachineInfo, { maxPods, podsPerCore }: Settings): number {
  return podsPerCore > 0 ? Math.min(maxPods, podsPerCore * machine.numCores) : maxPods;
}

/**
 * Returns a hard eviction threshold in bytes, from a quantity or a percentage of the total. Upstream computes percentages in single
 * precision; the difference of some bytes is visible in the status.
 */
function threshold(evictionHard: StringMap, signal: string, totalBytes: number): number {
  const text = evictionHard[signal];
  if (text === undefined || isNoThreshold(text)) return 0;
  if (!text.endsWith('%')) return value(text);
  return Math.trunc(totalBytes * Math.fround(Math.fround(Number.parseFloat(text)) / 100));
}
