import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boundsFor,
  initialParallelism,
  nextParallelism,
  type StartParallelism,
} from '../../../../../src/main/pods/dispatch/start-parallelism.ts';
import { table } from '../../../../support/table.ts';

const bounds = { min: 2, max: 64 };

/** Returns the state after `windows` windows with a runtime that completes `perSecond(n)` starts with n in progress. */
function climb(perSecond: (inFlight: number) => number, windows: number, from: StartParallelism, noise = () => 1): StartParallelism {
  let state = from;
  for (let window = 0; window < windows; window += 1) {
    state = nextParallelism(state, { work: perSecond(state.limit) * 60 * noise(), durationMs: 1000 }, bounds);
  }
  return state;
}
/** The measured runtime: 100 ms for one start, 7 s for 100 at once, the highest rate near 8. */
const measured = (inFlight: number) => {
  const best = 8;
  return inFlight <= best ? (10 * inFlight) / (1 + 0.55 * (inFlight - 1)) : (16.5 * 100) / (100 + 0.2 * (inFlight - best) ** 1.15);
};
const at = (limit: number): StartParallelism => ({ limit, base: null, probing: null, restWindows: 0 });

table('the hill climb finds the fastest parallelism', (row) => {
  for (const from of [2, 8, 16, 64]) {
    row(`starting from ${from}`, () => {
      const limits = Array.from({ length: 60 }, (_, window) => climb(measured, window + 60, at(from)).base?.limit ?? 0);
      assert.ok(Math.min(...limits) >= 4 && Math.max(...limits) <= 14, `stayed at ${Math.min(...limits)} to ${Math.max(...limits)}`);
    });
  }
});

test('the hill climb finds the fastest parallelism with noisy windows', () => {
  let seed = 7;
  const noise = () => {
    seed = (seed * 16807) % 2147483647;
    return 0.97 + (0.06 * seed) / 2147483647;
  };
  const found = climb(measured, 200, at(2), noise);
  assert.ok(found.limit >= 4 && found.limit <= 24, `found ${found.limit}`);
});

test('the limit follows a runtime that becomes faster', () => {
  const slow = climb(measured, 80, at(8));
  const fast = climb((inFlight) => 10 * Math.min(inFlight, 32), 120, slow);
  assert.ok(fast.limit >= 24, `found ${fast.limit}`);
});

test('the limit is small for a runtime that starts one container at a time', () => {
  assert.ok(climb(() => 10, 60, at(16)).limit <= 4);
});

test('the limit stays within its bounds', () => {
  const climbed = climb((inFlight) => inFlight, 100, at(8)).limit;
  assert.ok(climbed > 40 && climbed <= 64, `found ${climbed}`);
  assert.ok(climb((inFlight) => 100 / inFlight, 100, at(8)).limit >= 2);
});

test('the initial limit is three starts per core, the minimum is two', () => {
  assert.deepEqual(boundsFor(2), { min: 4, max: 64 });
  assert.deepEqual(boundsFor(128), { min: 64, max: 64 });
  assert.equal(initialParallelism(2, boundsFor(2)).limit, 6);
  assert.equal(initialParallelism(128, boundsFor(128)).limit, 64);
});
