import assert from 'node:assert/strict';
import { nextTypicalMs, overdueAfterMs } from '../../../../../src/main/pods/dispatch/overdue-starts.ts';
import { table } from '../../../../support/table.ts';

table('a start counts', (row) => {
  const is = (name: string, [hung, typicalMs, critical]: readonly [number, number | null, boolean], expectedMs: number) =>
    row(name, () => assert.equal(Math.round(overdueAfterMs({ uncountedStarts: hung, typicalMs, critical })), expectedMs));
  is('for three seconds before any start has ended', [0, null, false], 3_000);
  is('for one second when its pod is critical', [0, null, true], 1_000);
  is('for three seconds while starts take 100 ms', [0, 100, false], 3_000);
  is('for four times the typical duration', [0, 1_500, false], 6_000);
  is('for the same time when its pod is critical', [0, 1_500, true], 6_000);
  is('for ten seconds at most', [0, 20_000, false], 10_000);
  is('no longer with 64 hung starts', [64, 100, false], 3_000);
  is('twice as long with 68 hung starts', [68, 100, false], 6_000);
  is('32 times as long with 84 hung starts', [84, 100, false], 96_000);
  is('longer with hung starts when its pod is critical', [72, 100, true], 4_000);
});

table('the typical duration of a start', (row) => {
  row('is the duration of the first start', () => assert.equal(nextTypicalMs(null, 800), 800));
  row('follows by an eighth', () => assert.equal(nextTypicalMs(800, 1_600), 900));
  row('ignores a hung start', () => assert.equal(nextTypicalMs(800, 30_001), 800));
  row('is unknown after a hung start alone', () => assert.equal(nextTypicalMs(null, 240_000), null));
});
