import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ReflectorBackoff } from '../../../../../src/main/api/reflector/reflector-backoff.ts';

function aBackoff() {
  const time = { ms: 0 };
  const backoff = new ReflectorBackoff({ monotonic: () => time.ms }, () => 0);
  /** After being well for so long. */
  const next = (wellMs = 0) => {
    time.ms += wellMs;
    const delayMs = backoff.nextMs();
    time.ms += delayMs;
    return delayMs;
  };
  return { backoff, next };
}

test('a server that stays away is asked less and less often, and at least every quarter of a minute', () => {
  const { next } = aBackoff();
  assert.deepEqual(
    Array.from({ length: 8 }, () => next()),
    [800, 1600, 3200, 6400, 8000, 8000, 8000, 8000],
  );
});

test('one that was well for as long as was waited for it last is asked soon again', () => {
  const { next } = aBackoff();
  for (let i = 0; i < 6; i += 1) next();
  assert.equal(next(7000), 8000);
  assert.equal(next(10_001), 800);
  assert.equal(next(5000), 1600);
  assert.equal(next(10_001), 800);
});

test('what the server asks for is waited for, but not without bound', () => {
  const { backoff } = aBackoff();
  assert.equal(backoff.nextMs(5000), 5000);
  assert.equal(backoff.nextMs(3_600_000), 60_000);
});
