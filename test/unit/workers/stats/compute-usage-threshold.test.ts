import assert from 'node:assert/strict';
import { computeUsageThreshold } from '../../../../src/workers/stats/memory-pressure/compute-usage-threshold.ts';
import { table } from '../../../support/table.ts';

const Mi = 2 ** 20;
const cases = [
  {
    name: 'the working set is the usage without inactive file pages',
    available: { bytes: 100 * Mi },
    capacity: 1000,
    inactive: 50,
    want: 950,
  },
  { name: 'a share of the capacity', available: { fraction: 0.1 }, capacity: 1000, inactive: 0, want: 900 },
  { name: 'a threshold above the capacity', available: { bytes: 2000 * Mi }, capacity: 1000, inactive: 10, want: 0 },
  { name: 'no limit', available: { bytes: 100 * Mi }, capacity: Infinity, inactive: 10, want: undefined },
  { name: 'a share of no limit', available: { fraction: 0.1 }, capacity: Infinity, inactive: 10, want: undefined },
];

table('the usage at which an eviction threshold is crossed', (row) => {
  for (const { name, available, capacity, inactive, want } of cases) {
    row(name, () => {
      const usage = { capacityBytes: capacity * Mi, inactiveFileBytes: inactive * Mi };
      const bytes = computeUsageThreshold({ scope: 'node', available }, usage);
      assert.equal(bytes, want === undefined ? undefined : want * Mi);
    });
  }
});
