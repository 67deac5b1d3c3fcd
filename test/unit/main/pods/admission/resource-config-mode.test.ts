import assert from 'node:assert/strict';
import { resourceConfigMode, type ResourceConfigMode } from '../../../../../src/main/pods/admission/resource-config-mode.ts';
import type { PodSpec } from '../../../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';

const requests = { requests: { cpu: '1' } };
const withRequests = { containers: [aContainer({ resources: requests })] };
const cases: readonly [name: string, spec: Partial<PodSpec>, want: ResourceConfigMode][] = [
  ['nothing', {}, ''],
  ['an empty list', { resources: { requests: {} }, containers: [aContainer({ resources: { limits: {} } })] }, ''],
  ['a container', withRequests, 'container_level'],
  ['an init container', { initContainers: [aContainer({ name: 'init', resources: requests })] }, 'container_level'],
  ['the pod', { resources: requests }, 'pod_level'],
  ['both', { ...withRequests, resources: requests }, 'pod_and_container_level'],
];
table('where the resources of a pod are set', (row) => {
  for (const [name, spec, want] of cases) row(name, () => assert.equal(resourceConfigMode(aPod({ spec })), want));
});
