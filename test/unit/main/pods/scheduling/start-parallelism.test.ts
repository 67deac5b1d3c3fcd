import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  boundsFor,
  initialParallelism,
  nextParallelism,
  type StartParallelism,
} from '../../../../../src/main/pods/scheduling/start-parallelism.ts';
import { table } from '../../../../support/table.ts';

const bounds = { min: 2, max: 64 };

/** A runtime that gets `perSecond(n)` starts done while n are in flight; the limit after so many windows. */
function follow(perSecond: (inFlight: number) => number, windows: number, from: StartParallelism, noise = () => 1): StartParallelism {
  let state = from;
  for (let window = 0; window < windows; window += 1) {
    state = nextParallelism(state, { work: perSecond(state.limit) * 60 * noise(), durationMs: 1000 }, bounds);
  }
  return state;
}
/** As measured: 100 ms alone, 7 s when 100 start at once, most done per second near 8. */
const measured = (inFlight: number) => {
  const best = 8;
  return inFlight <= best ? (10 * inFlight) / (1 + 0.55 * (inFlight - 1)) : (16.5 * 100) / (100 + 0.2 * (inFlight - best) ** 1.15);
};
const at = (limit: number): StartParallelism => ({ limit, base: null, probing: null, restWindows: 0 });

table('the parallelism at which most is done is found', (row) => {
  for (const from of [2, 8, 16, 64]) {
    row(`the parallelism at which most is done is found from ${from}`, () => {
      const seen = Array.from({ length: 60 }, (_, window) => follow(measured, window + 60, at(from)).base?.limit ?? 0);
      assert.ok(Math.min(...seen) >= 4 && Math.max(...seen) <= 14, `stayed at ${Math.min(...seen)} to ${Math.max(...seen)}`);
    });
  }
});

test('it is found although no two windows are alike', () => {
  let seed = 7;
  const noise = () => {
    seed = (seed * 16807) % 2147483647;
    return 0.97 + (0.06 * seed) / 2147483647;
  };
  const found = follow(measured, 200, at(2), noise);
  assert.ok(found.limit >= 4 && found.limit <= 24, `found ${found.limit}`);
});

test('it follows a runtime that became faster', () => {
  const slow = follow(measured, 80, at(8));
  const fast = follow((inFlight) => 10 * Math.min(inFlight, 32), 120, slow);
  assert.ok(fast.limit >= 24, `found ${fast.limit}`);
});

test('a runtime that does one thing at a time is asked for few at once', () => {
  assert.ok(follow(() => 10, 60, at(16)).limit <= 4);
});

test('the limit never leaves its bounds', () => {
  const climbed = follow((inFlight) => inFlight, 100, at(8)).limit;
  assert.ok(climbed > 40 && climbed <= 64, `found ${climbed}`);
  assert.ok(follow((inFlight) => 100 / inFlight, 100, at(8)).limit >= 2);
});

test('a node begins with three starts a core, and never does with fewer than two', () => {
  assert.deepEqual(boundsFor(2), { min: 4, max: 64 });
  assert.deepEqual(boundsFor(128), { min: 64, max: 64 });
  assert.equal(initialParallelism(2, boundsFor(2)).limit, 6);
  assert.equal(initialParallelism(128, boundsFor(128)).limit, 64);
});
