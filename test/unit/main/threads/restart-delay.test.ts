import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeRestart, healthyAfterMs, type RestartHistory } from '../../../../src/main/threads/restart-delay.ts';
import { defaultPodSyncThreads } from '../../../../src/main/threads/pod-sync-pool.ts';
import { table } from '../../../support/table.ts';

function delays(uptimesMs: readonly number[], random: number): number[] {
  let history: RestartHistory = { earlyDeaths: 0 };
  return uptimesMs.map((uptimeMs) => {
    const next = computeRestart(history, uptimeMs, () => random);
    history = next.history;
    return next.delayMs;
  });
}

test('a thread that ran long enough before it died is always restarted immediately', () => {
  assert.deepEqual(delays([healthyAfterMs, healthyAfterMs * 5, healthyAfterMs], 0.9), [0, 0, 0]);
});

test('a thread that keeps dying early is restarted later each time, with jitter, up to a base delay of half a minute', () => {
  assert.deepEqual(delays([1, 1, 1, 1, 1, 1, 1], 0), [0, 50, 100, 200, 400, 800, 1600]);
  assert.deepEqual(delays([1, 1, 1], 0.5), [0, 62.5, 125]);
  assert.equal(delays(Array(40).fill(1), 0).at(-1), 30_000);
});

test('one long run resets the back-off', () => {
  assert.deepEqual(delays([1, 1, 1, healthyAfterMs, 1, 1], 0), [0, 50, 100, 0, 0, 50]);
});

const cores: [number, number][] = [
  [1, 2],
  [2, 2],
  [6, 3],
  [128, 8],
];
table('the sync pool’s number of threads depends on the node’s cores', (row) => {
  for (const [count, want] of cores) {
    row(`a node of ${count} cores has ${want} threads in the sync pool`, () => assert.equal(defaultPodSyncThreads(count), want));
  }
});
