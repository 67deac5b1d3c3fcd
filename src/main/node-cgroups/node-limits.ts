/**
 * Computes the limits of the cgroup of all pods, and of the cgroups of the system and of Kubernetes' own daemons (upstream
 * pkg/kubelet/cm/node_container_manager_linux.go). Pure.
 */
import { milliValue, quantityOf, toQuantity, value, type QuantityLike, type Quantity } from '../../shared/kubernetes/quantity.ts';
import { hugePageLimits, sharesFromMilliCPU, type CgroupResources } from '../../shared/cgroups/cgroup-values.ts';

export type Amounts = Readonly<Record<string, QuantityLike>>;

/** Returns the capacity without what is reserved, at least 0 (GetNodeAllocatableAbsolute). Hard eviction thresholds do not count. */
export function unreservedCapacity(capacity: Amounts, ...reservations: readonly Amounts[]): Record<string, Quantity> {
  const entries = Object.entries(capacity).map(([name, total]): [string, Quantity] => {
    const { nanos, format } = toQuantity(total);
    const rest = reservations.reduce((sum, reserved) => sum - toQuantity(reserved[name]).nanos, nanos);
    return [name, { nanos: rest < 0n ? 0n : rest, format }];
  });
  return Object.fromEntries(entries);
}

/** Returns the values of a cgroup that may use these amounts. `compressibleOnly`: of CPU only. */
export function toCgroupLimits(amounts: Amounts, compressibleOnly = false): CgroupResources {
  const { cpu, memory, pid } = amounts;
  const shares = cpu === undefined ? {} : { cpuShares: sharesFromMilliCPU(milliValue(cpu)) };
  if (compressibleOnly) return shares;
  const quantities = Object.fromEntries(Object.entries(amounts).map(([name, amount]) => [name, toQuantity(amount)]));
  return {
    ...shares,
    ...(memory === undefined ? {} : { memoryBytes: value(memory) }),
    ...(pid === undefined ? {} : { pidsLimit: value(pid) }),
    hugePageLimits: hugePageLimits(quantities),
  };
}

/** The capacity as amounts of resources, with the processes that the kernel allows. */
export function toAmounts(machine: {
  readonly numCores: number;
  readonly memoryBytes: number;
  readonly hugePages: readonly { readonly pageSizeKiB: number; readonly pages: number }[];
  readonly maxPids?: number;
}): Record<string, Quantity> {
  const pages = machine.hugePages.map(({ pageSizeKiB, pages: count }): [string, Quantity] => [
    `hugepages-${pageSizeKiB}Ki`,
    quantityOf(pageSizeKiB * 1024 * count),
  ]);
  return {
    cpu: quantityOf(machine.numCores),
    memory: quantityOf(machine.memoryBytes),
    ...Object.fromEntries(pages),
    ...(machine.maxPids === undefined ? {} : { pid: quantityOf(machine.maxPids) }),
  };
}
