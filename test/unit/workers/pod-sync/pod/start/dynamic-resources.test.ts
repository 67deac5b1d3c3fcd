import assert from 'node:assert/strict';
import type { Pod } from '../../../../../../src/shared/kubernetes/api.ts';
import { dynamicResourcesProblem } from '../../../../../../src/workers/pod-sync/pod/start/dynamic-resources.ts';
import { aPod } from '../../../../../support/pods/pods.ts';
import { table } from '../../../../../support/table.ts';

const resourceClaims = [
  { name: 'gpu', resourceClaimName: 'gpu-1' },
  { name: 'net', resourceClaimTemplateName: 'nets' },
];
const extendedResourceClaimStatus = { resourceClaimName: 'web-extended', requestMappings: [] };
const cases: readonly [name: string, pod: Pod, want: string | null][] = [
  ['no claims', aPod(), null],
  ['an empty list', aPod({ spec: { resourceClaims: [] } }), null],
  ['claims of the spec', aPod({ spec: { resourceClaims } }), 'this kubelet cannot prepare resource claims (gpu, net)'],
  [
    'a claim for extended resources',
    aPod({ status: { extendedResourceClaimStatus } }),
    'this kubelet cannot prepare resource claims (web-extended)',
  ],
];
table('a pod with resource claims cannot start', (row) => {
  for (const [name, pod, want] of cases) row(name, () => assert.equal(dynamicResourcesProblem(pod), want));
});
