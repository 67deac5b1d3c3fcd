/**
 * What the kernel is told about a pod's resources (upstream pkg/kubelet/cm/helpers_linux.go and qos_container_manager_linux.go).
 * Pure: a pod in, numbers out.
 */
import type { Pod } from '../kubernetes/api.ts';
import { hasPodLevelResources, podLimits, podRequests, type ResourceAmounts } from '../kubernetes/pod-resources.ts';
import { qosClass } from '../kubernetes/qos-class.ts';
import { isZeroQuantity, milliValue, tryParseQuantity, value } from '../kubernetes/quantity.ts';

/** The kernel's bounds of cpu.shares (kernel/sched/sched.h). */
export const minShares = 2;
const maxShares = 262_144;
const sharesPerCPU = 1024;
const milliPerCPU = 1000;
/** The kernel's least CFS quota, 1 ms. */
const minQuotaUs = 1000;

/** What is absent is left as the kernel has it. */
export interface CgroupResources {
  readonly cpuShares?: number;
  /** −1: no limit. */
  readonly cpuQuotaUs?: number;
  readonly cpuPeriodUs?: number;
  /** 0 leaves the kernel's value. */
  readonly memoryBytes?: number;
  readonly pidsLimit?: number;
  /** Bytes by page size in the kernel's spelling (`2MB`); every size that is not named is limited to 0. Absent: all are left alone. */
  readonly hugePageLimits?: Readonly<Record<string, number>>;
}

export function sharesFromMilliCPU(milliCPU: number): number {
  const shares = Math.floor((milliCPU * sharesPerCPU) / milliPerCPU);
  return Math.min(Math.max(shares, minShares), maxShares);
}

/** 0 for no CPU: no limit was given. */
export function quotaFromMilliCPU(milliCPU: number, periodUs: number): number {
  return milliCPU === 0 ? 0 : Math.max(Math.floor((milliCPU * periodUs) / milliPerCPU), minQuotaUs);
}

/** cgroup v2's cpu.weight (1 to 10000) of v1's cpu.shares (2 to 262144). */
export function weightFromShares(shares: number): number {
  if (shares >= maxShares) return 10_000;
  return 1 + Math.floor(((shares - minShares) * 9999) / 262_142);
}

export function sharesFromWeight(weight: number): number {
  return minShares + Math.floor(((weight - 1) * 262_142) / 9999);
}

/** A page size as hugetlb's file names have it: `2MB`, `1GB`, `64KB`. */
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
  /** CFS quotas are enforced (cpuCFSQuota). */
  readonly enforceCPULimits: boolean;
  readonly cpuPeriodUs: number;
  /** podPidsLimit; 0 and below: none. */
  readonly podPidsLimit: number;
  /** Gate PodLevelResources. */
  readonly podLevelResources: boolean;
}

/** Upstream ResourceConfigForPod, with the pids limit that EnsureExists adds. */
export function podCgroupResources(pod: Pod, options: PodCgroupOptions): CgroupResources {
  const skipPodLevel = !options.podLevelResources;
  const requests = podRequests(pod, { skipPodLevel });
  const declared = { cpu: true, memory: true };
  const limits = podLimits(pod, {
    skipPodLevel,
    onContainer: (amounts) => {
      declared.cpu &&= !isZeroQuantity(amounts['cpu']);
      declared.memory &&= !isZeroQuantity(amounts['memory']);
    },
  });
  if (!skipPodLevel && hasPodLevelResources(pod.spec)) {
    declared.cpu ||= !isZeroQuantity(pod.spec.resources?.limits?.['cpu']);
    declared.memory ||= !isZeroQuantity(pod.spec.resources?.limits?.['memory']);
  }
  const cpu = {
    cpuQuotaUs: options.enforceCPULimits ? quotaFromMilliCPU(milliValue(limits['cpu']), options.cpuPeriodUs) : -1,
    cpuPeriodUs: options.cpuPeriodUs,
  };
  const memory = { memoryBytes: value(limits['memory']) };
  const qos = qosClass(pod);
  const guaranteed = qos === 'Guaranteed';
  return {
    cpuShares: qos === 'BestEffort' ? minShares : sharesFromMilliCPU(milliValue(requests['cpu'])),
    ...(guaranteed || (qos === 'Burstable' && declared.cpu) ? cpu : {}),
    ...(guaranteed || (qos === 'Burstable' && declared.memory) ? memory : {}),
    ...(options.podPidsLimit > 0 ? { pidsLimit: options.podPidsLimit } : {}),
    hugePageLimits: hugePageLimits(requests),
  };
}

function hugePageLimits(requests: ResourceAmounts): Record<string, number> {
  const limits: Record<string, number> = {};
  for (const [name, amount] of Object.entries(requests)) {
    if (!name.startsWith('hugepages-')) continue;
    const pageBytes = tryParseQuantity(name.slice('hugepages-'.length));
    // Admission refuses the pod: the node has no pages of such a size.
    if (pageBytes === null) continue;
    const size = hugePageSizeName(value(pageBytes));
    limits[size] = (limits[size] ?? 0) + value(amount);
  }
  return limits;
}
