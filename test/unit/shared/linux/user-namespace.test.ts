import assert from 'node:assert/strict';
import { mapsAllIDs } from '../../../../src/shared/linux/user-namespace.ts';
import { table } from '../../../support/table.ts';

const cases: readonly [map: string, want: boolean][] = [
  ['         0          0 4294967295\n', true],
  ['         0     100000      65536\n', false],
  ['         0          0          1\n         1     100000      65536\n', false],
  ['', false],
];
table('a map of all IDs', (row) => {
  for (const [map, want] of cases) row(JSON.stringify(map), () => assert.equal(mapsAllIDs(map), want));
});
