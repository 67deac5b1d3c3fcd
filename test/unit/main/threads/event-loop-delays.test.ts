import assert from 'node:assert/strict';
import { createHistogram } from 'node:perf_hooks';
import { test } from 'node:test';
import { sampledDelaysMs } from '../../../../src/main/threads/event-loop-delays.ts';

/** What Node samples every 10 ms when its event loop is so late, to three digits. */
function sampled(...delaysMs: number[]) {
  const histogram = createHistogram();
  for (const delayMs of delaysMs) histogram.record(Math.round((10 + delayMs) * 1e6));
  return Array.from(sampledDelaysMs(histogram), (delayMs) => Math.round(delayMs * 10) / 10);
}

test('every wait for the event loop is counted as long as it was', () => {
  const quiet = Array.from({ length: 96 }, () => 0.1);
  assert.deepEqual(sampled(...quiet, 7, 31, 90, 31), [90, 31, 31, 7, ...quiet]);
});

test('an event loop that was looked at early is not late', () => {
  assert.deepEqual(sampled(-0.9, -1), [0, 0]);
});

test('nothing is counted when nothing was sampled', () => {
  assert.deepEqual(sampled(), []);
});
