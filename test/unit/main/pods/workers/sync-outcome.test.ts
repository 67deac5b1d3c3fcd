import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mergeBackoffs, requeueDelayMs } from '../../../../../src/main/pods/workers/sync-outcome.ts';
import type { PodSyncResult } from '../../../../../src/shared/contracts/pod-sync/result.ts';
import { table } from '../../../../support/table.ts';

const policy = { resyncIntervalMs: 60_000, backOffMs: 10_000 };
const report = { waiting: {}, backoffs: [], changedRuntime: false };
const nowMs = 1_000_000;
const failed = (reason: string, more: { retryAtMs?: number; retryAfterMs?: number } = {}): PodSyncResult => ({
  outcome: 'failed',
  failure: { reason, message: 'x', ...(more.retryAfterMs === undefined ? {} : { retryAfterMs: more.retryAfterMs }) },
  ...report,
  ...(more.retryAtMs === undefined ? {} : { retryAtMs: more.retryAtMs }),
});

const cases: { name: string; result: PodSyncResult; random?: number; want: number }[] = [
  { name: 'a synced pod is synced again after the sync frequency', result: { outcome: 'synced', ...report }, want: 60_000 },
  { name: 'the sync frequency is jittered by up to a half', result: { outcome: 'synced', ...report }, random: 1, want: 90_000 },
  {
    name: 'a back-off that ends before the next resync is exact',
    result: { outcome: 'synced', ...report, retryAtMs: nowMs + 1234 },
    random: 1,
    want: 1234,
  },
  {
    name: 'a back-off that ends after the next resync does not delay the resync',
    result: { outcome: 'synced', ...report, retryAtMs: nowMs + 300_000 },
    want: 60_000,
  },
  {
    name: 'a pod in CrashLoopBackOff is synced when the back-off ends, without jitter',
    result: failed('CrashLoopBackOff', { retryAtMs: nowMs + 20_000 }),
    random: 1,
    want: 20_000,
  },
  { name: 'a back-off that has ended causes no delay', result: failed('CrashLoopBackOff', { retryAtMs: nowMs - 5 }), want: 0 },
  {
    name: 'an image pull in back-off is retried when the back-off ends',
    result: failed('ImagePullBackOff', { retryAfterMs: 40_000 }),
    want: 40_000,
  },
  { name: 'an error is retried after the back-off', result: failed('FailedMount'), want: 10_000 },
  { name: 'the back-off after an error is jittered by up to a half', result: failed('FailedMount'), random: 1, want: 15_000 },
  {
    name: 'an error is retried at the end of a container back-off if that is sooner',
    result: failed('FailedMount', { retryAtMs: nowMs + 3000 }),
    want: 3000,
  },
  { name: 'a network that is not ready is retried after one second', result: failed('NetworkNotReady'), want: 1000 },
  { name: 'a stopped task is retried after one second', result: { outcome: 'stopped', ...report }, want: 1000 },
];
table('the requeue delay', (row) => {
  for (const { name, result, random = 0, want } of cases) {
    row(name, () => assert.equal(requeueDelayMs('sync', result, policy, nowMs, random), want));
  }
});

test('the back-offs of a container whose image changes all the time are bounded, and those of other containers are kept', () => {
  const backoff = (key: string, lastUpdateMs: number) => ({ key, backoffMs: 10_000, lastUpdateMs });
  const others = Array.from({ length: 200 }, (_, index) => backoff(`other-${index}/1`, 0));
  let backoffs = mergeBackoffs([], others);
  for (let image = 0; image < 10; image += 1) backoffs = mergeBackoffs(backoffs, [backoff(`app/${image}`, image)]);
  backoffs = mergeBackoffs(backoffs, [backoff('app/8', 11)]);
  assert.deepEqual(
    backoffs.filter(({ key }) => key.startsWith('app/')).map(({ key, lastUpdateMs }) => `${key} ${lastUpdateMs}`),
    ['app/6 6', 'app/7 7', 'app/9 9', 'app/8 11'],
  );
  assert.equal(backoffs.length, 204);
});
