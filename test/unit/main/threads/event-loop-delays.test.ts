import assert from 'node:assert/strict';
import { createHistogram } from 'node:perf_hooks';
import { test } from 'node:test';
import { sampledDelaysMs } from '../../../../src/main/threads/event-loop-delays.ts';

/** The delays from Node’s samples, taken every 50 ms, for an event loop with these delays. Rounded: a histogram has three digits. */
function sampled(...delaysMs: number[]) {
  const histogram = createHistogram();
  for (const delayMs of delaysMs) histogram.record(Math.round((50 + delayMs) * 1e6));
  return Array.from(sampledDelaysMs(histogram), (delayMs) => (delayMs > 20 ? Math.round(delayMs) : Math.round(delayMs * 10) / 10));
}

test('each delay of the event loop is counted with its length', () => {
  const quiet = Array.from({ length: 96 }, () => 0.1);
  assert.deepEqual(sampled(...quiet, 7, 31, 90, 31), [90, 31, 31, 7, ...quiet]);
});

test('an early sample is no delay', () => {
  assert.deepEqual(sampled(-0.9, -1), [0, 0]);
});

test('nothing is counted when nothing was sampled', () => {
  assert.deepEqual(sampled(), []);
});
