import assert from 'node:assert/strict';
import { requestedChanges } from '../../../../../src/main/allocation/resize/requested-changes.ts';
import type { ResourceRequirements } from '../../../../../src/shared/kubernetes/api.ts';
import { table } from '../../../../support/table.ts';
import { aContainer, aPod } from '../../../../support/pods/pods.ts';

const podOf = (resources: ResourceRequirements) => aPod({ spec: { containers: [aContainer({ resources })] } });
const rows: [string, ResourceRequirements, ResourceRequirements, string[]][] = [
  ['nothing', { requests: { cpu: '1' } }, { requests: { cpu: '1000m' } }, []],
  [
    'more and less',
    { requests: { cpu: '1', memory: '2Gi' } },
    { requests: { cpu: '2', memory: '1Gi' } },
    ['memory requests decrease', 'cpu requests increase'],
  ],
  ['a new limit', {}, { limits: { memory: '1Gi' } }, ['memory limits add']],
  ['no limit any more', { limits: { cpu: '1' } }, {}, ['cpu limits remove']],
];

table('what an update asks to resize', (row) => {
  for (const [name, before, after, want] of rows) {
    row(name, () =>
      assert.deepEqual(
        requestedChanges(podOf(before), podOf(after)).map(
          ({ resource, requirement, operation }) => `${resource} ${requirement} ${operation}`,
        ),
        want,
      ),
    );
  }
});
