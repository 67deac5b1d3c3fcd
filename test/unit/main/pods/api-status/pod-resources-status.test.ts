import assert from 'node:assert/strict';
import { asActuated } from '../../../../../src/main/allocation/index.ts';
import { podResourcesStatus } from '../../../../../src/main/pods/api-status/pod-resources-status.ts';
import type { PodCgroupDifference } from '../../../../../src/shared/contracts/pod-sync/allocation.ts';
import type { PodSpec, PodStatus, ResourceRequirements } from '../../../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const both = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '128Mi' } };
const requestOnly = { requests: { cpu: '50m', 'ephemeral-storage': '1Gi' } };
const specOf = (...resources: ResourceRequirements[]): Partial<PodSpec> => ({
  containers: resources.map((each, index) => aContainer({ name: `c${index}`, resources: each })),
});

const rows: {
  name: string;
  spec: Partial<PodSpec>;
  isRunning?: boolean;
  podLevel?: boolean;
  read?: PodCgroupDifference;
  want: Partial<PodStatus>;
}[] = [
  { name: 'a pod without requests', spec: specOf({}), want: { resources: {} } },
  { name: 'a pod of one container', spec: specOf(both), want: { resources: both, allocatedResources: both.requests } },
  {
    name: 'the sum of two containers, without limits when only one has them',
    spec: specOf(both, requestOnly),
    want: {
      resources: { requests: { cpu: '150m', memory: '64Mi' } },
      allocatedResources: { cpu: '150m', memory: '64Mi', 'ephemeral-storage': '1Gi' },
    },
  },
  {
    name: 'before it runs, the sum of its containers',
    spec: specOf(both, requestOnly),
    isRunning: false,
    want: {
      resources: { requests: { cpu: '150m', memory: '64Mi', 'ephemeral-storage': '1Gi' }, limits: both.limits },
      allocatedResources: { cpu: '150m', memory: '64Mi', 'ephemeral-storage': '1Gi' },
    },
  },
  {
    name: 'pod-level resources override those of its containers',
    spec: { ...specOf(both, {}), resources: { requests: { cpu: '1' }, limits: { cpu: '2', memory: '1Gi' } } },
    want: {
      resources: { requests: { cpu: '1', memory: '64Mi' }, limits: { cpu: '2', memory: '1Gi' } },
      allocatedResources: { cpu: '1', memory: '64Mi' },
    },
  },
  {
    name: 'with the gate off, the sum of its containers',
    spec: { ...specOf(both, {}), resources: { requests: { cpu: '1' }, limits: { cpu: '2', memory: '1Gi' } } },
    podLevel: false,
    want: { resources: { requests: both.requests }, allocatedResources: both.requests },
  },
  {
    name: 'a request below the cgroup’s minimum is shown as it was allocated',
    spec: specOf({ requests: { cpu: '1m', memory: '16Mi' } }),
    want: { resources: { requests: { cpu: '1m', memory: '16Mi' } }, allocatedResources: { cpu: '1m', memory: '16Mi' } },
  },
  {
    name: 'what the cgroup has, where it is not as it was allocated',
    spec: specOf(both),
    read: { memoryLimit: 32 * 2 ** 20, cpuLimit: 1500, cpuShares: 512 },
    want: {
      resources: { requests: { cpu: '500m', memory: '64Mi' }, limits: { cpu: '1500m', memory: '32Mi' } },
      allocatedResources: both.requests,
    },
  },
  {
    name: 'a cgroup without limits',
    spec: specOf(both),
    read: { memoryLimit: null, cpuLimit: null },
    want: { resources: { requests: both.requests }, allocatedResources: both.requests },
  },
  {
    name: 'values that stand for the amounts in force, by a weight of v2 too',
    spec: specOf(both),
    read: { memoryLimit: 128 * 2 ** 20, cpuLimit: 200, cpuShares: 80 },
    want: { resources: both, allocatedResources: both.requests },
  },
  {
    name: 'values at the kernel’s minimum',
    spec: specOf({ requests: { cpu: '1m', memory: '16Mi' }, limits: { cpu: '5m', memory: '16Mi' } }),
    read: { cpuLimit: 10, cpuShares: 2 },
    want: {
      resources: { requests: { cpu: '1m', memory: '16Mi' }, limits: { cpu: '5m', memory: '16Mi' } },
      allocatedResources: { cpu: '1m', memory: '16Mi' },
    },
  },
  {
    name: 'a limit of a pod that asks for none',
    spec: specOf({ requests: { cpu: '100m' } }),
    read: { memoryLimit: 2 ** 30 },
    want: { resources: { requests: { cpu: '100m' }, limits: { memory: '1Gi' } }, allocatedResources: { cpu: '100m' } },
  },
  {
    name: 'overhead is included',
    spec: { ...specOf(both), overhead: { cpu: '10m' } },
    want: {
      resources: { requests: { cpu: '110m', memory: '64Mi' }, limits: { cpu: '210m', memory: '128Mi' } },
      allocatedResources: { cpu: '110m', memory: '64Mi' },
    },
  },
];

table('pod-level resources', (row) => {
  for (const { name, spec, isRunning = true, podLevel = true, read, want } of rows) {
    row(name, () => {
      const pod = aPod({ spec });
      const inForce = isRunning ? asActuated(pod) : null;
      assert.deepEqual(podResourcesStatus({ pod, inForce, podLevelResources: podLevel, ...(read && { podCgroup: read }) }), want);
    });
  }
});
