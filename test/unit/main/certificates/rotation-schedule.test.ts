import assert from 'node:assert/strict';
import { rotationRetryDelayMs, rotationDelayMs } from '../../../../src/main/certificates/rotation/rotation-schedule.ts';
import { table } from '../../../support/table.ts';

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000];

table('a certificate is renewed after 70 to 90 % of its lifetime', (row) => {
  const year = 365 * day;
  /** Times relative to now. */
  const cases: { name: string; from: number; to: number; random: number; isNew: boolean; want: number }[] = [
    { name: 'the earliest time', from: 0, to: year, random: 0, isNew: false, want: 0.7 * year },
    { name: 'the latest time', from: 0, to: year, random: 0.999_999_999, isNew: false, want: 0.9 * year },
    { name: 'a certificate of the last start', from: -0.5 * year, to: 0.5 * year, random: 0.5, isNew: false, want: 0.3 * year },
    { name: 'one that is due', from: -0.85 * year, to: 0.15 * year, random: 0.5, isNew: false, want: 0 },
    { name: 'an expired one', from: -2 * year, to: -year, random: 0.5, isNew: false, want: 0 },
    { name: 'a new one, dated back', from: -5 * minute, to: year - 5 * minute, random: 0.5, isNew: true, want: 0.8 * year - 5 * minute },
    { name: 'a new short-lived one that is due already', from: -5 * minute, to: 20 * second, random: 0.5, isNew: true, want: 16 * second },
    { name: 'a new one, and the clock is ten hours ahead', from: -10 * hour, to: -9 * hour, random: 0.5, isNew: true, want: 0.8 * hour },
    { name: 'a new one, and the clock is ten hours behind', from: 10 * hour, to: 11 * hour, random: 0.5, isNew: true, want: 0.8 * hour },
    { name: 'a new one that lives for a moment', from: 0, to: second, random: 0.5, isNew: true, want: 5 * second },
  ];
  const now = Date.UTC(2026, 0, 1);
  for (const { name, from, to, random, isNew, want } of cases) {
    row(name, () => {
      const delay = rotationDelayMs({ notBeforeMs: now + from, notAfterMs: now + to }, now, random, isNew);
      assert.ok(Math.abs(delay - want) < second, `${delay} instead of ${want}`);
    });
  }
});

table('a failed request is repeated', (row) => {
  const delays = (isRefused: boolean) =>
    [1, 2, 3, 4, 5, 6, 10, 1000].map((failures) => rotationRetryDelayMs(failures, isRefused, () => 0) / second);
  row('up to every 32 s after failures, as upstream', () => assert.deepEqual(delays(false), [2, 4, 8, 16, 32, 32, 32, 32]));
  row('up to every ten minutes after refusals', () => assert.deepEqual(delays(true), [2, 4, 8, 16, 32, 64, 600, 600]));
  row('with a jitter of a tenth', () =>
    assert.equal(
      rotationRetryDelayMs(1, false, () => 0.999_999),
      2 * second * 1.099_999_9,
    ),
  );
});
