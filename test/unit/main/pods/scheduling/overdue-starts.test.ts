import assert from 'node:assert/strict';
import { nextTypicalMs, overdueAfterMs } from '../../../../../src/main/pods/scheduling/overdue-starts.ts';
import { table } from '../../../../support/table.ts';

table('how long a start counts', (row) => {
  const is = (name: string, [hung, typicalMs, critical]: readonly [number, number | null, boolean], expectedMs: number) =>
    row(name, () => assert.equal(Math.round(overdueAfterMs({ hung, typicalMs, critical })), expectedMs));
  is('three seconds, before any start has ended', [0, null, false], 3_000);
  is('one second for a critical pod', [0, null, true], 1_000);
  is('three seconds while starts take 100 ms', [0, 100, false], 3_000);
  is('four times what starts take', [0, 1_500, false], 6_000);
  is('the same for a critical pod', [0, 1_500, true], 6_000);
  is('ten seconds at most', [0, 20_000, false], 10_000);
  is('no longer beside 64 that hang', [64, 100, false], 3_000);
  is('twice as long beside 68', [68, 100, false], 6_000);
  is('32 times as long beside 84', [84, 100, false], 96_000);
  is('also for a critical pod', [72, 100, true], 4_000);
});

table('what starts take lately', (row) => {
  row('is what the first took', () => assert.equal(nextTypicalMs(null, 800), 800));
  row('follows by an eighth', () => assert.equal(nextTypicalMs(800, 1_600), 900));
  row('is not what one took that hung', () => assert.equal(nextTypicalMs(800, 30_001), 800));
  row('is not known by one that hung', () => assert.equal(nextTypicalMs(null, 240_000), null));
});
