import assert from 'node:assert/strict';
import { computeFirstRun, computeNextRun } from '../../../../../src/workers/probes/schedule/next-run.ts';
import { table } from '../../../../support/table.ts';

const second = 1000;
const base = {
  nowMs: 100 * second,
  containerAgeMs: 0,
  threadAgeMs: 100 * second,
  initialDelayMs: 0,
  periodMs: 10 * second,
  isAwaited: false,
  random: 0.5,
};

table('computeFirstRun', (row) => {
  const cases: readonly [string, Partial<typeof base>, number][] = [
    ['a new container without a delay is probed at once', {}, 100 * second],
    ['the delay counts from the start of the container', { containerAgeMs: 2 * second, initialDelayMs: 5 * second }, 103 * second],
    ['a delay that has passed does not count', { containerAgeMs: 60 * second, initialDelayMs: 5 * second }, 100 * second],
    ['a container older than a new thread is probed within its period', { containerAgeMs: 60 * second, threadAgeMs: second }, 105 * second],
    ['a probe whose result is awaited is not spread', { containerAgeMs: 60 * second, threadAgeMs: second, isAwaited: true }, 100 * second],
    [
      'a delay that ends after the spread counts',
      { containerAgeMs: 60 * second, threadAgeMs: second, initialDelayMs: 70 * second },
      110 * second,
    ],
    ['a container that started under a new thread is probed at once', { containerAgeMs: 0.5 * second, threadAgeMs: second }, 100 * second],
    ['a thread that is older than the period spreads nothing', { containerAgeMs: 60 * second, threadAgeMs: 11 * second }, 100 * second],
  ];
  for (const [name, over, want] of cases) row(name, () => assert.equal(computeFirstRun({ ...base, ...over }), want));
});

table('computeNextRun', (row) => {
  const cases: readonly [string, readonly [number, number, number], number][] = [
    ['a probe that ran in time runs a period later', [100, 10, 100], 110],
    ['a probe that ran late keeps its rhythm', [100, 10, 104], 110],
    ['a due time that is now counts as passed', [100, 10, 110], 120],
    ['times that have passed are skipped', [100, 10, 157], 160],
    ['a due time in the future is kept in rhythm', [100, 10, 90], 110],
  ];
  for (const [name, args, want] of cases) row(name, () => assert.equal(computeNextRun(...args), want));
});
