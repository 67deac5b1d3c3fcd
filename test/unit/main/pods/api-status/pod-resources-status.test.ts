import assert from 'node:assert/strict';
import { podResourcesStatus } from '../../../../../src/main/pods/api-status/pod-resources-status.ts';
import type { PodSpec, PodStatus, ResourceRequirements } from '../../../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../../../support/pods.ts';
import { table } from '../../../../support/table.ts';

const both = { requests: { cpu: '100m', memory: '64Mi' }, limits: { cpu: '200m', memory: '128Mi' } };
const requestOnly = { requests: { cpu: '50m', 'ephemeral-storage': '1Gi' } };
const specOf = (...resources: ResourceRequirements[]): Partial<PodSpec> => ({
  containers: resources.map((each, index) => aContainer({ name: `c${index}`, resources: each })),
});

const rows: { name: string; spec: Partial<PodSpec>; isRunning?: boolean; podLevel?: boolean; want: Partial<PodStatus> }[] = [
  { name: 'a pod that asks for nothing', spec: specOf({}), want: { resources: {} } },
  { name: 'a pod of one container', spec: specOf(both), want: { resources: both, allocatedResources: both.requests } },
  {
    name: 'the sum of two, where only one has limits: the cgroup has none',
    spec: specOf(both, requestOnly),
    want: {
      resources: { requests: { cpu: '150m', memory: '64Mi' } },
      allocatedResources: { cpu: '150m', memory: '64Mi', 'ephemeral-storage': '1Gi' },
    },
  },
  {
    name: 'the same before it runs: what its containers come to',
    spec: specOf(both, requestOnly),
    isRunning: false,
    want: {
      resources: { requests: { cpu: '150m', memory: '64Mi', 'ephemeral-storage': '1Gi' }, limits: both.limits },
      allocatedResources: { cpu: '150m', memory: '64Mi', 'ephemeral-storage': '1Gi' },
    },
  },
  {
    name: 'resources of the pod itself go before those of its containers',
    spec: { ...specOf(both, {}), resources: { requests: { cpu: '1' }, limits: { cpu: '2', memory: '1Gi' } } },
    want: {
      resources: { requests: { cpu: '1', memory: '64Mi' }, limits: { cpu: '2', memory: '1Gi' } },
      allocatedResources: { cpu: '1', memory: '64Mi' },
    },
  },
  {
    name: 'the same, with the gate off',
    spec: { ...specOf(both, {}), resources: { requests: { cpu: '1' }, limits: { cpu: '2', memory: '1Gi' } } },
    podLevel: false,
    want: { resources: { requests: both.requests }, allocatedResources: both.requests },
  },
  {
    name: 'a request that the kernel rounds up to its least says nothing',
    spec: specOf({ requests: { cpu: '2m' } }),
    want: { resources: {}, allocatedResources: { cpu: '2m' } },
  },
  {
    name: 'overhead counts',
    spec: { ...specOf(both), overhead: { cpu: '10m' } },
    want: {
      resources: { requests: { cpu: '110m', memory: '64Mi' }, limits: { cpu: '210m', memory: '128Mi' } },
      allocatedResources: { cpu: '110m', memory: '64Mi' },
    },
  },
];

table('the resources of a pod as a whole', (row) => {
  for (const { name, spec, isRunning = true, podLevel = true, want } of rows) {
    row(name, () => assert.deepEqual(podResourcesStatus(aPod({ spec }), isRunning, podLevel), want));
  }
});
