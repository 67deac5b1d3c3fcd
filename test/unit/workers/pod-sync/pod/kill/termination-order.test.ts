import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeTerminationPrerequisites } from '../../../../../../src/workers/pod-sync/pod/kill/termination-order.ts';
import { aContainer, aPod, aSidecar } from '../../../../../support/pods/pod-sync-samples.ts';

const pod = aPod({
  initContainers: [aSidecar('s1'), aContainer('i'), aSidecar('s2'), aSidecar('s3')],
  containers: [aContainer('a'), aContainer('b')],
});
const cases: { name: string; running: string[]; want: Record<string, string[]> }[] = [
  {
    name: 'each sidecar waits for all containers and for the sidecar after it',
    running: ['a', 'b', 's1', 's2', 's3'],
    want: { s3: ['a', 'b'], s2: ['a', 'b', 's3'], s1: ['a', 'b', 's2'] },
  },
  { name: 'a container that does not run is not waited for', running: ['b', 's1', 's3'], want: { s3: ['b'], s2: ['b', 's3'], s1: ['b'] } },
  { name: 'an init container that is not a sidecar is not waited for', running: ['i', 's1'], want: { s3: [], s2: [], s1: [] } },
];
for (const { name, running, want } of cases) {
  test(name, () => assert.deepEqual(Object.fromEntries(computeTerminationPrerequisites(pod, new Set(running))), want));
}
