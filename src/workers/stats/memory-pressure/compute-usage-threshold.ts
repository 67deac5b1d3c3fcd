/** The usage of a cgroup of v1 at which an eviction threshold is crossed. Pure. Upstream: UpdateThreshold (memory_threshold_notifier_others.go). */
import type { MemoryThreshold } from '../../../shared/contracts/stats.ts';

export interface CgroupMemory {
  /** The limit of the cgroup; the machine's memory for the root. Infinity: no limit. */
  readonly capacityBytes: number;
  /** File pages that the kernel can reclaim at any time: part of the usage, not of the working set. */
  readonly inactiveFileBytes: number;
}

/** Undefined without a limit: nothing can be scarce. */
export function computeUsageThreshold(
  { available }: MemoryThreshold,
  { capacityBytes, inactiveFileBytes }: CgroupMemory,
): number | undefined {
  if (!Number.isFinite(capacityBytes)) return undefined;
  const availableBytes = 'bytes' in available ? available.bytes : Math.trunc(capacityBytes * available.fraction);
  // Available is capacity − working set, and the working set is usage − inactive file pages: solved for the usage.
  return Math.max(0, capacityBytes - availableBytes + inactiveFileBytes);
}
