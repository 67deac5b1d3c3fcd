import assert from 'node:assert/strict';
import { test } from 'node:test';
import { backoffUntilMs, nextBackoffMs, stepBackoff, withJitter } from '../../../../src/shared/time/backoff.ts';

const limits = { initialMs: 10_000, maxMs: 300_000, resetAfterMs: 600_000 };

test('a delay doubles from its first value up to its maximum', () => {
  const delays: number[] = [];
  for (let delay: number | undefined, i = 0; i < 7; i += 1) delays.push((delay = nextBackoffMs(delay, limits)));
  assert.deepEqual(delays, [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
});

test('jitter only lengthens a delay, by at most its factor', () => {
  assert.equal(
    withJitter(1000, 0.5, () => 0),
    1000,
  );
  assert.equal(
    withJitter(1000, 0.5, () => 0.5),
    1250,
  );
});

test('a key that never failed is not backed off', () => {
  assert.equal(backoffUntilMs(undefined, 0, 0, limits), undefined);
});

test('a back-off starts at the event, not at the step', () => {
  const entry = { backoffMs: 20_000, lastUpdateMs: 5_000 };
  assert.equal(backoffUntilMs(entry, 30_000, 40_000, limits), 50_000);
  assert.equal(backoffUntilMs(entry, 30_000, 50_000, limits), undefined);
});

test('a back-off resets after the reset time without a failure', () => {
  const entry = { backoffMs: 300_000, lastUpdateMs: 0 };
  assert.equal(backoffUntilMs(entry, 600_001, 600_002, limits), undefined);
  assert.deepEqual(stepBackoff(entry, 600_001, 600_002, limits), { backoffMs: 10_000, lastUpdateMs: 600_002 });
  assert.deepEqual(stepBackoff(entry, 600_000, 600_002, limits), { backoffMs: 300_000, lastUpdateMs: 600_002 });
});
