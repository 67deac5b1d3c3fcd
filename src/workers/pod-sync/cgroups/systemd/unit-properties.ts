/**
 * Converts a cgroup's resources to properties of a systemd slice. Pure. Names, types and conversions are libcontainer's
 * (github.com/opencontainers/cgroups/systemd: v1.go, v2.go, common.go, cpuset.go).
 */
import { weightFromShares, type CgroupResources } from '../../../../shared/cgroups/cgroup-values.ts';

/** The name, the D-Bus type of the value, and the value. */
export type UnitProperty =
  | readonly [name: string, type: 't', value: bigint]
  | readonly [name: string, type: 'b', value: boolean]
  | readonly [name: string, type: 's', value: string]
  | readonly [name: string, type: 'as', value: readonly string[]]
  | readonly [name: string, type: 'ay', value: readonly number[]];

/** UINT64_MAX: no limit. */
export const infinity = 2n ** 64n - 1n;
/** The kernel's default. */
const defaultPeriodUs = 100_000;
/** Systemd keeps quotas in percent of a CPU: 1% is 10 ms in each second. */
const quotaStepUs = 10_000n;
/** The first systemd version with CPUQuotaPeriodUSec. */
const periodSince = 242;
/** The first systemd version with AllowedCPUs. */
const cpusetSince = 244;

/** @param systemdVersion 0 when it is not known */
export function toUnitProperties(resources: CgroupResources, version: 1 | 2, systemdVersion: number): UnitProperty[] {
  const { cpuShares, cpuPeriodUs, memoryBytes, pidsLimit, cpusetCpus, unified = {} } = resources;
  const properties: UnitProperty[] = [];
  const add = (name: string, value: bigint) => properties.push([name, 't', value]);
  if (memoryBytes) add(version === 1 ? 'MemoryLimit' : 'MemoryMax', toLimit(memoryBytes));
  if (cpuShares) {
    if (version === 1) add('CPUShares', BigInt(cpuShares));
    else add('CPUWeight', BigInt(weightFromShares(cpuShares)));
  }
  if (cpuPeriodUs && systemdVersion >= periodSince) add('CPUQuotaPeriodUSec', BigInt(cpuPeriodUs));
  if (resources.cpuQuotaUs || cpuPeriodUs) add('CPUQuotaPerSecUSec', quotaPerSecond(resources));
  // Systemd accepts no limit of 0.
  if (pidsLimit !== undefined) add('TasksMax', pidsLimit === 0 ? 1n : toLimit(pidsLimit));
  if (cpusetCpus && systemdVersion >= cpusetSince) properties.push(['AllowedCPUs', 'ay', toCPUBits(cpusetCpus)]);
  if (version === 2) for (const [file, text] of Object.entries(unified)) properties.push(...unifiedProperty(file, text.trim()));
  return properties;
}

/** Returns the resources with the quota as systemd rounds it, for the kernel's files that are written after the properties. */
export function roundedForSystemd(resources: CgroupResources): CgroupResources {
  const { cpuQuotaUs = 0, cpuPeriodUs } = resources;
  if (cpuQuotaUs <= 0) return resources;
  return { ...resources, cpuQuotaUs: Number((quotaPerSecond(resources) * BigInt(cpuPeriodUs || defaultPeriodUs)) / 1_000_000n) };
}

/** Returns the µs of CPU time in each second, rounded up to a percent of a CPU: rounded down, a pod's quota could be less than its containers' quotas. */
function quotaPerSecond({ cpuQuotaUs = 0, cpuPeriodUs }: CgroupResources): bigint {
  if (cpuQuotaUs <= 0) return infinity;
  const perSecond = (BigInt(cpuQuotaUs) * 1_000_000n) / BigInt(cpuPeriodUs || defaultPeriodUs);
  return ((perSecond + quotaStepUs - 1n) / quotaStepUs) * quotaStepUs;
}

function toLimit(count: number): bigint {
  return count < 0 ? infinity : BigInt(count);
}

const memoryProperties: Readonly<Record<string, string>> = {
  'memory.high': 'MemoryHigh',
  'memory.low': 'MemoryLow',
  'memory.min': 'MemoryMin',
  'memory.max': 'MemoryMax',
  'memory.swap.max': 'MemorySwapMax',
};

/** Returns the property of a v2 file. A file without a property is only written as a file. */
function unifiedProperty(file: string, text: string): UnitProperty[] {
  const name = memoryProperties[file];
  return name === undefined ? [] : [[name, 't', text === 'max' ? infinity : BigInt(text)]];
}

/** Returns the CPUs of a list such as `0-3,8` as a bitmap: CPU n is bit n mod 8 of byte ⌊n / 8⌋. */
export function toCPUBits(list: string): number[] {
  const bytes: number[] = [];
  for (const range of list.split(',')) {
    const [first = 0, last = first] = range.split('-').map(Number);
    for (let cpu = first; cpu <= last; cpu += 1) {
      while (bytes.length <= cpu >> 3) bytes.push(0);
      bytes[cpu >> 3]! |= 1 << (cpu & 7);
    }
  }
  return bytes;
}
