import assert from 'node:assert/strict';
import type { CgroupResources } from '../../../../../src/shared/cgroups/cgroup-values.ts';
import { toCgroupFiles } from '../../../../../src/workers/pod-sync/cgroups/cgroup-files.ts';
import { table } from '../../../../support/table.ts';

const guaranteed: CgroupResources = {
  cpuShares: 1024,
  cpuQuotaUs: 100_000,
  cpuPeriodUs: 100_000,
  memoryBytes: 1_073_741_824,
  pidsLimit: 100,
  hugePageLimits: { '2MB': 67_108_864 },
};
const cases: { name: string; resources: CgroupResources; version: 1 | 2; sizes?: string[]; want: string[] }[] = [
  {
    name: 'a Guaranteed pod in v1',
    resources: guaranteed,
    version: 1,
    sizes: ['2MB', '1GB'],
    want: [
      'cpu/cpu.shares=1024',
      'cpu/cpu.cfs_period_us=100000',
      'cpu/cpu.cfs_quota_us=100000',
      'memory/memory.limit_in_bytes=1073741824',
      'pids/pids.max=100',
      'hugetlb/hugetlb.2MB.limit_in_bytes=67108864',
      'hugetlb/hugetlb.2MB.rsvd.limit_in_bytes=67108864?',
      'hugetlb/hugetlb.1GB.limit_in_bytes=0',
      'hugetlb/hugetlb.1GB.rsvd.limit_in_bytes=0?',
    ],
  },
  {
    name: 'a Guaranteed pod in v2',
    resources: guaranteed,
    version: 2,
    sizes: ['2MB'],
    want: [
      'cpu/cpu.weight=39',
      'cpu/cpu.max=100000 100000',
      'memory/memory.max=1073741824',
      'pids/pids.max=100',
      'hugetlb/hugetlb.2MB.max=67108864',
      'hugetlb/hugetlb.2MB.rsvd.max=67108864?',
    ],
  },
  { name: 'a BestEffort pod in v1', resources: { cpuShares: 2, hugePageLimits: {} }, version: 1, want: ['cpu/cpu.shares=2'] },
  {
    name: 'an unlimited quota in v1',
    resources: { cpuQuotaUs: -1, cpuPeriodUs: 100_000 },
    version: 1,
    want: ['cpu/cpu.cfs_period_us=100000', 'cpu/cpu.cfs_quota_us=-1'],
  },
  { name: 'an unlimited quota in v2', resources: { cpuQuotaUs: -1, cpuPeriodUs: 50_000 }, version: 2, want: ['cpu/cpu.max=max 50000'] },
  { name: 'no memory limit', resources: { memoryBytes: 0 }, version: 2, want: [] },
  {
    name: 'a QoS class without limits of huge pages',
    resources: { cpuShares: 2 },
    version: 1,
    sizes: ['2MB'],
    want: ['cpu/cpu.shares=2'],
  },
];
table('the files that are written for a cgroup', (row) => {
  for (const { name, resources, version, sizes = [], want } of cases) {
    row(`the files that are written for ${name}`, () => {
      const files = toCgroupFiles(resources, version, sizes);
      assert.deepEqual(
        files.map(({ controller, file, value, optional }) => `${controller}/${file}=${value}${optional ? '?' : ''}`),
        want,
      );
    });
  }
});
