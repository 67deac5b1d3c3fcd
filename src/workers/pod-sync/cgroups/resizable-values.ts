/** The values of a pod's cgroup that a resize changes, in the units of the kernel's files. Pure. */
import { weightFromShares, type CgroupResources } from '../../../shared/cgroups/cgroup-values.ts';

export interface PodCgroupValue {
  /** Infinity: no limit. */
  readonly current: number;
  /** Undefined: the pod does not set it. */
  readonly desired: number | undefined;
}

export interface PodCgroupValues {
  /** Bytes. */
  readonly memory: PodCgroupValue;
  /** µs in a period. */
  readonly quota: PodCgroupValue;
  /** Shares with v1, a weight with v2. */
  readonly shares: PodCgroupValue;
}

/** In the order of the arguments of `toResizableValues`. */
export const resizableFiles = {
  1: [
    { controller: 'memory', file: 'memory.limit_in_bytes' },
    { controller: 'cpu', file: 'cpu.cfs_quota_us' },
    { controller: 'cpu', file: 'cpu.shares' },
  ],
  2: [
    { controller: 'memory', file: 'memory.max' },
    { controller: 'cpu', file: 'cpu.max' },
    { controller: 'cpu', file: 'cpu.weight' },
  ],
} as const;

/** A file that does not exist limits nothing. */
export function toResizableValues(
  [memory, quota, shares]: readonly (string | undefined)[],
  desired: CgroupResources,
  version: 1 | 2,
): PodCgroupValues {
  const { memoryBytes, cpuQuotaUs, cpuShares } = desired;
  return {
    memory: { current: toLimit(memory), desired: memoryBytes === 0 ? undefined : memoryBytes },
    quota: { current: toLimit(quota), desired: cpuQuotaUs === undefined ? undefined : cpuQuotaUs > 0 ? cpuQuotaUs : Infinity },
    shares: {
      current: Number(shares ?? 0),
      desired: cpuShares === undefined || version === 1 ? cpuShares : weightFromShares(cpuShares),
    },
  };
}

/** The first number of a file; `max` and −1 are no limit. */
function toLimit(text = 'max'): number {
  const [first = 'max'] = text.trim().split(' ');
  const number = first === 'max' ? -1 : Number(first);
  return number < 0 ? Infinity : number;
}

export function partOf(resources: CgroupResources, part: keyof PodCgroupValues): CgroupResources {
  const { memoryBytes, unified, cpuQuotaUs, cpuPeriodUs, cpuShares } = resources;
  switch (part) {
    case 'memory':
      return { ...(memoryBytes !== undefined && { memoryBytes }), ...(unified && { unified }) };
    case 'quota':
      return { ...(cpuQuotaUs !== undefined && { cpuQuotaUs }), ...(cpuPeriodUs !== undefined && { cpuPeriodUs }) };
    case 'shares':
      return { ...(cpuShares !== undefined && { cpuShares }) };
    default:
      return part satisfies never;
  }
}
