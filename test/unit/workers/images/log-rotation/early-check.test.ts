import assert from 'node:assert/strict';
import { computeEarlyCheckMs } from '../../../../../src/workers/images/log-rotation/early-check.ts';
import { table } from '../../../../support/table.ts';

const mebi = 1024 * 1024;
const limits = { maxSizeBytes: 10 * mebi, monitorIntervalMs: 10_000 };

table('a fast log is checked early', (row) => {
  const rows: [string, number, number, number, number | null][] = [
    ['an idle log is not', 5 * mebi, 0, 10_000, null],
    ['a truncated log is not', 0, -5 * mebi, 10_000, null],
    ['a log without a measured time is not', mebi, mebi, 0, null],
    ['a log that is not full before the next check is not', mebi, mebi, 10_000, null],
    ['a log that is full exactly then is not', 0, 10 * mebi, 10_000, null],
    ['a log that is full before is checked when it is full', 5 * mebi, 10 * mebi, 10_000, 5000],
    ['100 MiB/s is checked after a second, not ten times as often', 0, 1000 * mebi, 10_000, 1000],
    ['a log above the limit after a second', 20 * mebi, 10 * mebi, 10_000, 1000],
  ];
  for (const [name, sizeBytes, grownBytes, elapsedMs, want] of rows)
    row(name, () => assert.equal(computeEarlyCheckMs({ sizeBytes, grownBytes, elapsedMs }, limits), want));
});
