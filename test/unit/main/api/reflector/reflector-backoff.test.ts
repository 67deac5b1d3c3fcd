import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReflectorBackoff } from '../../../../../src/main/api/reflector/reflector-backoff.ts';

function aBackoff() {
  const time = { ms: 0 };
  const backoff = new ReflectorBackoff({ monotonic: () => time.ms }, () => 0);
  /** Returns the next delay after the server was healthy for `healthyMs`. */
  const next = (healthyMs = 0) => {
    time.ms += healthyMs;
    const delayMs = backoff.nextMs();
    time.ms += delayMs;
    return delayMs;
  };
  return { backoff, next };
}

test('the delays grow while the server is unavailable, up to 16 seconds with jitter', () => {
  const { next } = aBackoff();
  assert.deepEqual(
    Array.from({ length: 8 }, () => next()),
    [800, 1600, 3200, 6400, 8000, 8000, 8000, 8000],
  );
});

test('the delay resets when the server was healthy for as long as the last delay', () => {
  const { next } = aBackoff();
  for (let i = 0; i < 6; i += 1) next();
  assert.equal(next(7000), 8000);
  assert.equal(next(10_001), 800);
  assert.equal(next(5000), 1600);
  assert.equal(next(10_001), 800);
});

test('Retry-After is respected up to a limit', () => {
  const { backoff } = aBackoff();
  assert.equal(backoff.nextMs(5000), 5000);
  assert.equal(backoff.nextMs(3_600_000), 60_000);
});
