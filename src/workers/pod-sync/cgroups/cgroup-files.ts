/** Converts a cgroup's resources to writes of kernel files. Pure. The order and the values are those that runc writes. */
import { weightFromShares, type CgroupResources } from '../../../shared/cgroups/cgroup-values.ts';

export interface CgroupFile {
  /** v1 has a hierarchy of this name. */
  readonly controller: string;
  readonly file: string;
  readonly value: string;
  /** Only newer kernels have the file: it is skipped when missing. */
  readonly optional?: boolean;
}

/** `hugePageSizes` are the host's (`2MB`). A size that the resources do not name is limited to 0. */
export function toCgroupFiles(resources: CgroupResources, version: 1 | 2, hugePageSizes: readonly string[]): CgroupFile[] {
  const files = version === 1 ? filesV1(resources) : filesV2(resources);
  return [...files, ...hugePageFiles(resources, version, hugePageSizes)];
}

/** The kernel's default for `cpu.cfs_period_us` and for the second number of `cpu.max`. */
const defaultPeriodUs = 100_000;

function filesV1({ cpuShares, cpuPeriodUs, cpuQuotaUs, memoryBytes, pidsLimit, cpusetCpus }: CgroupResources): CgroupFile[] {
  const files: CgroupFile[] = [];
  const add = (controller: string, file: string, value: number | undefined) => {
    // 0 leaves the kernel's value, as in runc.
    if (value !== undefined && value !== 0) files.push({ controller, file, value: String(value) });
  };
  add('cpu', 'cpu.shares', cpuShares);
  add('cpu', 'cpu.cfs_period_us', cpuPeriodUs);
  add('cpu', 'cpu.cfs_quota_us', cpuQuotaUs);
  add('memory', 'memory.limit_in_bytes', memoryBytes);
  add('pids', 'pids.max', pidsLimit);
  if (cpusetCpus) files.push({ controller: 'cpuset', file: 'cpuset.cpus', value: cpusetCpus });
  return files;
}

function filesV2({ cpuShares, cpuPeriodUs, cpuQuotaUs, memoryBytes, pidsLimit, cpusetCpus, unified = {} }: CgroupResources): CgroupFile[] {
  const files: CgroupFile[] = [];
  const add = (controller: string, file: string, value: string) => files.push({ controller, file, value });
  if (cpuShares !== undefined) add('cpu', 'cpu.weight', String(weightFromShares(cpuShares)));
  if (cpuQuotaUs || cpuPeriodUs) add('cpu', 'cpu.max', `${(cpuQuotaUs ?? 0) > 0 ? cpuQuotaUs : 'max'} ${cpuPeriodUs ?? defaultPeriodUs}`);
  if (memoryBytes) add('memory', 'memory.max', String(memoryBytes));
  if (pidsLimit) add('pids', 'pids.max', String(pidsLimit));
  if (cpusetCpus) add('cpuset', 'cpuset.cpus', cpusetCpus);
  for (const [file, value] of Object.entries(unified)) add(file.split('.')[0]!, file, value);
  return files;
}

function hugePageFiles({ hugePageLimits }: CgroupResources, version: 1 | 2, sizes: readonly string[]): CgroupFile[] {
  if (!hugePageLimits) return [];
  const suffix = version === 1 ? 'limit_in_bytes' : 'max';
  return sizes.flatMap((size) => {
    const value = String(hugePageLimits[size] ?? 0);
    const file = { controller: 'hugetlb', value };
    return [
      { ...file, file: `hugetlb.${size}.${suffix}` },
      // The limit of reservations, since Linux 5.7.
      { ...file, file: `hugetlb.${size}.rsvd.${suffix}`, optional: true },
    ];
  });
}
