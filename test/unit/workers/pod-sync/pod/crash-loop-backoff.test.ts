import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerBackoff } from '../../../../../src/shared/contracts/pod-sync/result.ts';
import { backoffKey, computeBackoffDecision } from '../../../../../src/workers/pod-sync/pod/crash-loop-backoff.ts';
import { aContainer, aPod, exited } from '../../../../support/pods/pod-sync-samples.ts';

const limits = { initialMs: 10_000, maxMs: 300_000 };
const key = backoffKey(aPod(), aContainer('app'));
const decide = (finishedAtMs: number, nowMs: number, backoffs: readonly ContainerBackoff[]) =>
  computeBackoffDecision({ key, exited: exited('app', 1, { finishedAtMs }), backoffs, nowMs, limits });

test('a container that never exited starts at once without a back-off', () => {
  assert.deepEqual(computeBackoffDecision({ key, exited: undefined, backoffs: [], nowMs: 0, limits }), { wait: false });
});

test('the first restart is immediate, and the second waits 10 s from the exit', () => {
  assert.deepEqual(decide(1000, 1500, []), { wait: false, backoff: { key, backoffMs: 10_000, lastUpdateMs: 1500 } });
  assert.deepEqual(decide(3000, 4000, [{ key, backoffMs: 10_000, lastUpdateMs: 1500 }]), {
    wait: true,
    untilMs: 13_000,
    backoffMs: 10_000,
  });
});

test('a container that keeps crashing waits twice as long each time, up to five minutes', () => {
  let backoffs: ContainerBackoff[] = [];
  let now = 0;
  const waited: number[] = [];
  for (let crash = 0; crash < 8; crash += 1) {
    const finishedAt = now;
    let decision = decide(finishedAt, now, backoffs);
    if (decision.wait) {
      waited.push(decision.untilMs - finishedAt);
      now = decision.untilMs;
      decision = decide(finishedAt, now, backoffs);
    }
    assert.equal(decision.wait, false);
    backoffs = decision.wait || !decision.backoff ? [] : [decision.backoff];
  }
  assert.deepEqual(waited, [10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
});

test('the back-off is reset after a run of more than ten minutes', () => {
  const backoffs = [{ key, backoffMs: 300_000, lastUpdateMs: 0 }];
  assert.deepEqual(decide(600_001, 600_002, backoffs), { wait: false, backoff: { key, backoffMs: 10_000, lastUpdateMs: 600_002 } });
});

test('a restarted kubelet continues with the back-off in the annotation of the container', () => {
  const afterRestart = (recordedKey: string, nowMs: number, backoffMs = 40_000) =>
    computeBackoffDecision({
      key,
      exited: exited('app', 1, { createdAtMs: 1000, finishedAtMs: 2000, restartBackOff: { key: recordedKey, backoffMs } }),
      backoffs: [],
      nowMs,
      limits,
    });
  assert.deepEqual(afterRestart(key, 30_000), { wait: true, untilMs: 42_000, backoffMs: 40_000 });
  assert.deepEqual(afterRestart(key, 42_000), { wait: false, backoff: { key, backoffMs: 80_000, lastUpdateMs: 42_000 } });
  // Another image or other resources: the back-off begins anew.
  assert.deepEqual(afterRestart('app/0', 3000), { wait: false, backoff: { key, backoffMs: 10_000, lastUpdateMs: 3000 } });
  // The maximum of an earlier configuration does not count.
  assert.deepEqual(afterRestart(key, 3000, 999_999_999), { wait: true, untilMs: 302_000, backoffMs: 300_000 });
});

test('a run of more than ten minutes under another kubelet resets the back-off', () => {
  const restartBackOff = { key, backoffMs: 300_000 };
  const container = exited('app', 1, { createdAtMs: 1000, finishedAtMs: 602_000, restartBackOff });
  const decision = computeBackoffDecision({ key, exited: container, backoffs: [], nowMs: 602_001, limits });
  assert.deepEqual(decision, { wait: false, backoff: { key, backoffMs: 10_000, lastUpdateMs: 602_001 } });
});

test('a container that has exited in the future, because the clock was set back, restarts at once', () => {
  const backoffs = [{ key, backoffMs: 20_000, lastUpdateMs: 3_600_000 }];
  assert.deepEqual(decide(3_601_000, 1000, backoffs), { wait: false, backoff: { key, backoffMs: 40_000, lastUpdateMs: 1000 } });
});

test('a new image or new resources reset the back-off', () => {
  assert.notEqual(backoffKey(aPod(), aContainer('app', { image: 'other:1' })), key);
  assert.notEqual(backoffKey(aPod(), aContainer('app', { resources: { limits: { cpu: '1' } } })), key);
  assert.notEqual(backoffKey(aPod({}, { uid: 'uid-2' }), aContainer('app')), key);
  assert.equal(backoffKey(aPod(), aContainer('app', { command: ['x'] })), key);
});
