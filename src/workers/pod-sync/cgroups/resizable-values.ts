/** The values of a pod's cgroup that a resize changes, in the units of the kernel's files. Pure. */
import type { PodCgroupDifference } from '../../../shared/contracts/pod-sync/allocation.ts';
import { sharesFromWeight, weightFromShares, type CgroupResources } from '../../../shared/cgroups/cgroup-values.ts';

export interface PodCgroupValue {
  /** Infinity: no limit. */
  readonly current: number;
  /** Undefined: the pod does not set the value. */
  readonly desired: number | undefined;
}

export interface PodCgroupValues {
  /** Bytes. */
  readonly memory: PodCgroupValue;
  /** µs of CPU time in a period. */
  readonly quota: PodCgroupValue;
  /** Shares with v1, a weight with v2. */
  readonly shares: PodCgroupValue;
  /** v2 with MemoryQoS: the files that protect and throttle memory, which are written together with the memory limit. */
  readonly unified: readonly UnifiedValue[];
}

export interface UnifiedValue extends PodCgroupValue {
  readonly file: string;
  /** The desired value as it is written to the file. */
  readonly text: string;
}

export type PodCgroupPart = 'memory' | 'quota' | 'shares';

/** The kernel's defaults, for files that a pod with MemoryQoS may have set before its resize and does not set now. */
export const memoryQosDefaults: Readonly<Record<string, string>> = { 'memory.min': '0', 'memory.low': '0', 'memory.high': 'max' };

const pageBytes = 4096;

/** The files of memory, quota and shares, in this order: `toResizableValues` takes their contents as its first argument. */
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

/**
 * A file that does not exist limits nothing.
 * @param unified the kernel's current values, by file, of the files in `desired.unified`
 */
export function toResizableValues(
  [memory, quota, shares]: readonly (string | undefined)[],
  desired: CgroupResources,
  version: 1 | 2,
  unified: Readonly<Record<string, string | undefined>> = {},
): PodCgroupValues {
  const { memoryBytes, cpuQuotaUs, cpuShares } = desired;
  return {
    memory: { current: toLimit(memory), desired: memoryBytes === 0 ? undefined : memoryBytes },
    quota: { current: toLimit(quota), desired: cpuQuotaUs === undefined ? undefined : cpuQuotaUs > 0 ? cpuQuotaUs : Infinity },
    shares: {
      current: Number(shares ?? 0),
      desired: cpuShares === undefined || version === 1 ? cpuShares : weightFromShares(cpuShares),
    },
    unified: Object.entries(desired.unified ?? {}).flatMap(([file, text]) => {
      const current = unified[file];
      return current === undefined ? [] : [{ file, text, current: toLimit(current), desired: inPages(toLimit(text)) }];
    }),
  };
}

/** The kernel of v1 shows an absent memory limit as 2^63 − 4096, the greatest whole number of pages. No real limit comes near 2^62. */
const unlimitedBytes = 2 ** 62;

/** Returns null when all values are those of the pod, or there is no cgroup. */
export function toDifference({ memory, quota, shares }: PodCgroupValues, periodUs: number, version: 1 | 2): PodCgroupDifference | null {
  // An existing cgroup always has shares, so this one does not exist.
  if (shares.current === 0) return null;
  const isSame = ({ current, desired = Infinity }: PodCgroupValue) => current === desired || Math.min(current, desired) >= unlimitedBytes;
  const limit = (amount: number) => (amount >= unlimitedBytes ? null : amount);
  const difference = {
    ...(!isSame(memory) && { memoryLimit: limit(memory.current) }),
    ...(!isSame(quota) && { cpuLimit: limit(Math.floor((quota.current * 1000) / periodUs)) }),
    ...(shares.current !== shares.desired && { cpuShares: version === 1 ? shares.current : sharesFromWeight(shares.current) }),
  };
  return Object.keys(difference).length === 0 ? null : difference;
}

/** Rounds down to whole pages, as the kernel does. */
function inPages(bytes: number): number {
  return Number.isFinite(bytes) ? Math.floor(bytes / pageBytes) * pageBytes : bytes;
}

/** The first number of a file; `max` and −1 are no limit. */
function toLimit(text = 'max'): number {
  const [first = 'max'] = text.trim().split(' ');
  const number = first === 'max' ? -1 : Number(first);
  return number < 0 ? Infinity : number;
}

/** Returns the resources that one part of a resize sets. */
export function partOf(resources: CgroupResources, part: PodCgroupPart): CgroupResources {
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
