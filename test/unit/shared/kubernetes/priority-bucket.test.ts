import assert from 'node:assert/strict';
import { priorityBucket, type PriorityBucket } from '../../../../src/shared/kubernetes/priority-bucket.ts';
import { table } from '../../../support/table.ts';

const cases: readonly [priority: number | undefined, want: PriorityBucket][] = [
  [undefined, 'normal'],
  [0, 'normal'],
  [1, 'medium'],
  [99_999, 'medium'],
  [100_000, 'high'],
  [1_999_999_999, 'high'],
  [2_000_000_000, 'system-critical'],
  [-1, 'low'],
  [-999, 'low'],
  [-1000, 'very-low'],
];
table('the bucket of a priority', (row) => {
  for (const [priority, want] of cases) row(`${priority} is ${want}`, () => assert.equal(priorityBucket(priority), want));
});
