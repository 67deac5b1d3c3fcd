/** Where the time of a pod's start went, and the timestamps that it is computed from. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeTimeShares, type Interval } from '../../../../bench/harness/statistics.ts';
import { parsePreciseMs } from '../../../../bench/harness/timestamps.ts';
import { table } from '../../../support/table.ts';

const from = (startMs: number, endMs: number): Interval => ({ startMs, endMs });

const rows: { name: string; groups: Interval[][]; groupsMs: number[]; restMs: number }[] = [
  { name: 'no groups', groups: [], groupsMs: [], restMs: 100 },
  { name: 'a group without intervals', groups: [[]], groupsMs: [0], restMs: 100 },
  { name: 'time in both groups belongs to the first', groups: [[from(10, 30)], [from(20, 50)]], groupsMs: [20, 20], restMs: 60 },
  { name: 'a group within an earlier one', groups: [[from(10, 60)], [from(20, 30)], [from(60, 70)]], groupsMs: [50, 0, 10], restMs: 40 },
  { name: 'what reaches beyond the span', groups: [[from(-50, 10), from(90, 200)], [from(150, 160)]], groupsMs: [20, 0], restMs: 80 },
];
table('each moment of a span belongs to the first group that covers it, or to the rest', (row) => {
  for (const { name, groups, groupsMs, restMs } of rows)
    row(name, () => assert.deepEqual(computeTimeShares(from(0, 100), groups), { groupsMs, restMs }));
});

test('a timestamp keeps its fractions of a millisecond', () => {
  const second = Date.UTC(2026, 10, 29, 5, 13, 1);
  const times = ['2026-11-29T05:13:01.250750Z', '2026-11-29T05:13:01.25Z', '2026-11-29T05:13:01Z'];
  assert.deepEqual(
    times.map((text) => parsePreciseMs(text) - second),
    [250.75, 250, 0],
  );
  assert.ok(Number.isNaN(parsePreciseMs('now')));
});
