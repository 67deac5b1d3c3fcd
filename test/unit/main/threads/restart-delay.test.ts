import assert from 'node:assert/strict';
import { test } from 'node:test';
import { afterDeath, wellAfterMs, type RestartHistory } from '../../../../src/main/threads/restart-delay.ts';
import { defaultPodSyncThreads } from '../../../../src/main/threads/pod-sync-pool.ts';
import { table } from '../../../support/table.ts';

function delays(lifetimesMs: readonly number[], random: number): number[] {
  let history: RestartHistory = { earlyDeaths: 0 };
  return lifetimesMs.map((lifetimeMs) => {
    const next = afterDeath(history, lifetimeMs, () => random);
    history = next.history;
    return next.delayMs;
  });
}

test('a thread that dies after a good life is started again at once, every time', () => {
  assert.deepEqual(delays([wellAfterMs, wellAfterMs * 5, wellAfterMs], 0.9), [0, 0, 0]);
});

test('a thread that keeps dying young is started later each time, with jitter, up to half a minute', () => {
  assert.deepEqual(delays([1, 1, 1, 1, 1, 1, 1], 0), [0, 50, 100, 200, 400, 800, 1600]);
  assert.deepEqual(delays([1, 1, 1], 0.5), [0, 62.5, 125]);
  assert.equal(delays(Array(40).fill(1), 0).at(-1), 30_000);
});

test('one good life ends the back-off', () => {
  assert.deepEqual(delays([1, 1, 1, wellAfterMs, 1, 1], 0), [0, 50, 100, 0, 0, 50]);
});

const cores: [number, number][] = [
  [1, 2],
  [2, 2],
  [6, 3],
  [128, 8],
];
table('a node’s sync pool has threads for its cores', (row) => {
  for (const [count, want] of cores) {
    row(`a node of ${count} cores has ${want} threads in the sync pool`, () => assert.equal(defaultPodSyncThreads(count), want));
  }
});
