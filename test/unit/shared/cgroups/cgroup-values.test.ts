import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod, PodSpec } from '../../../../src/shared/kubernetes/api.ts';
import {
  hugePageSizeName,
  computePodCgroupResources,
  quotaFromMilliCPU,
  sharesFromMilliCPU,
  sharesFromWeight,
  weightFromShares,
  type CgroupResources,
  type PodCgroupOptions,
} from '../../../../src/shared/cgroups/cgroup-values.ts';
import { aContainer, aPod, aSidecar } from '../../../support/pods/pod-sync-samples.ts';
import { table } from '../../../support/table.ts';

test('CPU requests are converted to shares within the bounds of the kernel', () => {
  assert.deepEqual([0, 1, 100, 1000, 1500, 10_000_000].map(sharesFromMilliCPU), [2, 2, 102, 1024, 1536, 262_144]);
});

test('CPU limits are converted to a quota of the period, of at least a millisecond', () => {
  const quotas = [0, 1, 10, 100, 1500].map((milliCPU) => quotaFromMilliCPU(milliCPU, 100_000));
  assert.deepEqual(quotas, [0, 1000, 1000, 10_000, 150_000]);
});

test('shares of cgroup v1 are converted to weights of v2 and back', () => {
  assert.deepEqual([2, 102, 1024, 262_144, 300_000].map(weightFromShares), [1, 4, 39, 10_000, 10_000]);
  assert.deepEqual([1, 39, 10_000].map(sharesFromWeight), [2, 998, 262_144]);
});

test('huge page sizes are spelled like the kernel’s', () => {
  assert.deepEqual([65_536, 2_097_152, 1_073_741_824].map(hugePageSizeName), ['64KB', '2MB', '1GB']);
});

const options: PodCgroupOptions = { enforceCPULimits: true, cpuPeriodUs: 100_000, podPidsLimit: -1, podLevelResources: true };
const withResources = (name: string, requests: Record<string, string>, limits: Record<string, string> = {}) =>
  aContainer(name, { resources: { requests, limits } });
const pod = (spec: Partial<PodSpec>): Pod => aPod(spec);

const cases: { name: string; pod: Pod; options?: Partial<PodCgroupOptions>; want: CgroupResources }[] = [
  { name: 'a BestEffort pod has the minimum of shares', pod: pod({}), want: { cpuShares: 2, hugePageLimits: {} } },
  {
    name: 'a Burstable pod without limits has shares only',
    pod: pod({ containers: [withResources('a', { cpu: '100m', memory: '100Mi' })] }),
    want: { cpuShares: 102, hugePageLimits: {} },
  },
  {
    name: 'a Burstable pod has limits of the resources that all its containers limit',
    pod: pod({
      containers: [
        withResources('a', { cpu: '100m' }, { cpu: '1', memory: '100Mi' }),
        withResources('b', { cpu: '200m' }, { memory: '100Mi' }),
      ],
    }),
    want: { cpuShares: 307, memoryBytes: 209_715_200, hugePageLimits: {} },
  },
  {
    name: 'a Burstable pod has no limit when an init container has none',
    pod: pod({ initContainers: [aContainer('init')], containers: [withResources('a', { cpu: '100m' }, { cpu: '1', memory: '100Mi' })] }),
    want: { cpuShares: 102, hugePageLimits: {} },
  },
  {
    name: 'a Guaranteed pod has a quota and a memory limit that include its sidecars',
    pod: pod({
      initContainers: [aSidecar('s', { resources: { requests: { cpu: '500m', memory: '1Gi' }, limits: { cpu: '500m', memory: '1Gi' } } })],
      containers: [withResources('a', { cpu: '1', memory: '1Gi' }, { cpu: '1', memory: '1Gi' })],
    }),
    want: { cpuShares: 1536, cpuQuotaUs: 150_000, cpuPeriodUs: 100_000, memoryBytes: 2_147_483_648, hugePageLimits: {} },
  },
  {
    name: 'without CFS quotas the quota is unlimited',
    pod: pod({ containers: [withResources('a', { cpu: '1', memory: '1Gi' }, { cpu: '1', memory: '1Gi' })] }),
    options: { enforceCPULimits: false },
    want: { cpuShares: 1024, cpuQuotaUs: -1, cpuPeriodUs: 100_000, memoryBytes: 1_073_741_824, hugePageLimits: {} },
  },
  {
    name: 'pod-level resources replace those of the containers',
    pod: pod({ resources: { requests: { cpu: '2', memory: '1Gi' }, limits: { cpu: '2', memory: '1Gi' } } }),
    want: { cpuShares: 2048, cpuQuotaUs: 200_000, cpuPeriodUs: 100_000, memoryBytes: 1_073_741_824, hugePageLimits: {} },
  },
  {
    name: 'huge pages and pids are limited if requested',
    pod: pod({ containers: [withResources('a', { cpu: '1', 'hugepages-2Mi': '64Mi' }, { 'hugepages-2Mi': '64Mi' })] }),
    options: { podPidsLimit: 100 },
    want: { cpuShares: 1024, pidsLimit: 100, hugePageLimits: { '2MB': 67_108_864 } },
  },
  {
    name: 'a huge page size that is not a quantity is ignored',
    pod: pod({ containers: [withResources('a', { cpu: '1', 'hugepages-2Mi': '64Mi', 'hugepages-': '1' }, { 'hugepages-2Mi': '64Mi' })] }),
    options: { podPidsLimit: 100 },
    want: { cpuShares: 1024, pidsLimit: 100, hugePageLimits: { '2MB': 67_108_864 } },
  },
];
table('the resources of a pod’s cgroup', (row) => {
  for (const { name, pod: input, options: overrides, want } of cases) {
    row(name, () => assert.deepEqual(computePodCgroupResources(input, { ...options, ...overrides }), want));
  }
});
