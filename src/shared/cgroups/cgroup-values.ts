/**
 * Computes the resource values of a pod's cgroup from its spec (upstream pkg/kubelet/cm/helpers_linux.go and
 * qos_container_manager_linux.go). Pure.
 */
import type { Pod } from '../kubernetes/api.ts';
import { hasPodLevelResources, podLimits, podRequests, type ResourceAmounts } from '../kubernetes/pod-resources.ts';
import { qosClass, type QosClass } from '../kubernetes/qos-class.ts';
import { isZeroQuantity, milliValue, tryParseQuantity, value } from '../kubernetes/quantity.ts';

/** The kernel's bounds of cpu.shares (kernel/sched/sched.h). */
export const minShares = 2;
const maxShares = 262_144;
const sharesPerCPU = 1024;
const milliPerCPU = 1000;
/** 100 ms, the kernel's default period of quotas. */
const defaultPeriodUs = 100_000;
/** The kernel's minimum CFS quota, 1 ms. */
const minQuotaUs = 1000;

/** The page size of amd64, and of arm64 kernels with 4 KiB pages. The kernel rounds memory.high to its own page size. */
const pageBytes = 4096;

/** An absent value leaves the kernel's value. */
export interface CgroupResources {
  readonly cpuShares?: number;
  /** −1 for no limit. */
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  /** 0 leaves the kernel's value. */
  readonly memoryBytes?: number;
  readonly pidsLimit?: number;
  /** Bytes by page size in the kernel's spelling (`2MB`). Every missing size is limited to 0. When absent, no size is changed. */
  readonly hugePageLimits?: Readonly<Record<string, number>>;
  /** A list of CPUs such as `0-3`. */
  readonly cpusetCpus?: string;
  /** Files of cgroup v2, such as `memory.min`. */
  readonly unified?: Readonly<Record<string, string>>;
}

export function sharesFromMilliCPU(milliCPU: number): number {
  const shares = Math.floor((milliCPU * sharesPerCPU) / milliPerCPU);
  return Math.min(Math.max(shares, minShares), maxShares);
}

/** Returns 0, no limit, for 0 CPU. */
export function quotaFromMilliCPU(milliCPU: number, periodUs: number): number {
  return milliCPU === 0 ? 0 : Math.max(Math.floor((milliCPU * periodUs) / milliPerCPU), minQuotaUs);
}

/**
 * Converts cgroup v1's cpu.shares (2 to 262144) to v2's cpu.weight (1 to 10000). Linear: 262,142 and 9999 are the differences between the ends of
 * the two ranges.
 */
export function weightFromShares(shares: number): number {
  if (shares >= maxShares) return 10_000;
  return 1 + Math.floor(((shares - minShares) * 9999) / 262_142);
}

/** The inverse of `weightFromShares`, up to rounding. */
export function sharesFromWeight(weight: number): number {
  return minShares + Math.floor(((weight - 1) * 262_142) / 9999);
}

/** Spells a page size like hugetlb's file names: `2MB`, `1GB`, `64KB`. */
export function hugePageSizeName(bytes: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB'];
  let unit = 0;
  let size = bytes;
  while (size >= 1024 && size % 1024 === 0 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${size}${units[unit]}`;
}

export interface PodCgroupOptions {
  /** Whether CFS quotas are enforced (cpuCFSQuota). */
  readonly enforceCPULimits: boolean;
  readonly cpuPeriodUs: number;
  /** Gate CustomCPUCFSQuotaPeriod. Without it, a quota is computed for the default period. */
  readonly customPeriod?: boolean;
  /** podPidsLimit; no limit if 0 or less. */
  readonly podPidsLimit: number;
  /** Gate PodLevelResources. */
  readonly podLevelResources: boolean;
  /** Gate MemoryQoS on cgroup v2 with memoryReservationPolicy TieredReservation: the kernel protects the requested memory. */
  readonly reservesMemory?: boolean;
  /** Gate MemoryQoS on cgroup v2 with a memoryThrottlingFactor: the kernel throttles a pod with pod-level resources. */
  readonly memoryThrottlingFactor?: number | null;
}

/** Returns the values of a pod's cgroup. Upstream: ResourceConfigForPod, and the pids limit that EnsureExists of podContainerManagerImpl adds. */
export function computePodCgroupResources(pod: Pod, options: PodCgroupOptions): CgroupResources {
  const skipPodLevel = !options.podLevelResources;
  const requests = podRequests(pod, { skipPodLevel });
  // Whether every container has a limit. Only then the sum of the limits bounds the pod.
  const declared = { cpu: true, memory: true };
  const limits = podLimits(pod, {
    skipPodLevel,
    onContainer: (amounts) => {
      declared.cpu &&= !isZeroQuantity(amounts['cpu']);
      declared.memory &&= !isZeroQuantity(amounts['memory']);
    },
  });
  const hasPodLevel = !skipPodLevel && hasPodLevelResources(pod.spec);
  if (hasPodLevel) {
    declared.cpu ||= !isZeroQuantity(pod.spec.resources?.limits?.['cpu']);
    declared.memory ||= !isZeroQuantity(pod.spec.resources?.limits?.['memory']);
  }
  const quotaPeriodUs = options.customPeriod ? options.cpuPeriodUs : defaultPeriodUs;
  const cpu = {
    cpuQuotaUs: options.enforceCPULimits ? quotaFromMilliCPU(milliValue(limits['cpu']), quotaPeriodUs) : -1,
    cpuPeriodUs: options.cpuPeriodUs,
  };
  const memory = { memoryBytes: value(limits['memory']) };
  const qos = qosClass(skipPodLevel ? withoutPodLevel(pod) : pod);
  const guaranteed = qos === 'Guaranteed';
  return {
    cpuShares: qos === 'BestEffort' ? minShares : sharesFromMilliCPU(milliValue(requests['cpu'])),
    ...(guaranteed || (qos === 'Burstable' && declared.cpu) ? cpu : {}),
    ...(guaranteed || (qos === 'Burstable' && declared.memory) ? memory : {}),
    ...(options.podPidsLimit > 0 ? { pidsLimit: options.podPidsLimit } : {}),
    hugePageLimits: hugePageLimits(requests),
    ...unifiedMemory({
      ...(options.reservesMemory ? memoryReservation(qos, value(requests['memory'])) : {}),
      ...(hasPodLevel && declared.memory
        ? memoryHigh(value(requests['memory']), value(limits['memory']), options.memoryThrottlingFactor ?? null)
        : {}),
    }),
  };
}

function withoutPodLevel(pod: Pod): Pick<Pod, 'spec' | 'status'> {
  const { resources: _, ...spec } = pod.spec;
  return { spec, ...(pod.status && { status: pod.status }) };
}

/** Protects the requested memory: the kernel never reclaims that of a Guaranteed pod, and that of a Burstable pod only if nothing else is left. */
export function memoryReservation(qos: QosClass, requestBytes: number): Record<string, string> {
  return requestBytes <= 0 ? {} : { [qos === 'Guaranteed' ? 'memory.min' : 'memory.low']: String(requestBytes) };
}

function unifiedMemory(files: Readonly<Record<string, string>>): Pick<CgroupResources, 'unified'> {
  return Object.keys(files).length === 0 ? {} : { unified: files };
}

/**
 * Returns the value of `memory.high`, above which the kernel throttles the pod: the request plus a share (the factor) of the distance from request
 * to limit, rounded down to whole pages. Empty when the memory is guaranteed, not limited, or not throttled (upstream memoryHighForPod).
 */
export function memoryHigh(requestBytes: number, limitBytes: number, throttlingFactor: number | null): Record<string, string> {
  if (throttlingFactor === null || limitBytes <= 0 || (requestBytes === limitBytes && requestBytes !== 0)) return {};
  const throttledAbove = Math.floor(requestBytes + (limitBytes - requestBytes) * throttlingFactor);
  const highBytes = Math.trunc(throttledAbove / pageBytes) * pageBytes;
  return highBytes > 0 && highBytes > requestBytes ? { 'memory.high': String(highBytes) } : {};
}

/** Returns the bytes by page size of the resources `hugepages-<size>`. */
export function hugePageLimits(requests: ResourceAmounts): Record<string, number> {
  const limits: Record<string, number> = {};
  for (const [name, amount] of Object.entries(requests)) {
    if (!name.startsWith('hugepages-')) continue;
    const pageSize = tryParseQuantity(name.slice('hugepages-'.length));
    // Admission rejects such a pod: the node has no pages of this size.
    if (pageSize === null) continue;
    const size = hugePageSizeName(value(pageSize));
    limits[size] = (limits[size] ?? 0) + value(amount);
  }
  return limits;
}
