import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { RunLimiter, type RunLimits, type Slot } from '../../../../../src/workers/probes/schedule/run-limiter.ts';
import { TimerQueue } from '../../../../../src/workers/probes/schedule/timer-queue.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';
import { aLogger } from '../../../../support/logger.ts';

const limits: RunLimits = { active: 2, overdueAfterMs: 500, total: 4, perPod: 3, guaranteed: 0 };

function aLimiter(over: Partial<RunLimits> = {}) {
  const clock = new FakeClock();
  const timers = new TimerQueue({ clock, logger: aLogger().logger });
  const limiter = new RunLimiter({ ...limits, ...over }, timers);
  const started: string[] = [];
  const slots = new Map<string, Slot>();
  const acquireWith = (names: readonly string[], hasHandshake: boolean) => {
    for (const name of names)
      slots.set(
        name,
        limiter.acquire(name[0] as PodUID, () => started.push(name), hasHandshake),
      );
  };
  const acquire = (...names: readonly string[]) => acquireWith(names, false);
  const acquireTLS = (...names: readonly string[]) => acquireWith(names, true);
  const release = (name: string) => limiter.release(slots.get(name)!);
  const charge = (name: string, ms: number) => limiter.charge(slots.get(name)!, ms);
  const hasTimeLeft = (name: string) => limiter.hasTimeLeft(slots.get(name)!);
  return { clock, started, acquire, acquireTLS, release, charge, hasTimeLeft };
}

test('runs start at once below the limit, then pods take turns', () => {
  const { started, acquire, release } = aLimiter();
  acquire('a1', 'a2', 'a3', 'a4', 'b1', 'c1', 'b2');
  assert.deepEqual(started, ['a1', 'a2']);
  for (const name of ['a1', 'a2', 'a3', 'b1', 'c1']) release(name);
  assert.deepEqual(started, ['a1', 'a2', 'a3', 'b1', 'c1', 'a4', 'b2']);
});

test('a run that waits no more does not start', () => {
  const { started, acquire, release } = aLimiter();
  acquire('a1', 'a2', 'b1', 'c1');
  release('b1');
  release('b1');
  release('a1');
  release('a1');
  assert.deepEqual(started, ['a1', 'a2', 'c1']);
  acquire('d1');
  assert.deepEqual(started, ['a1', 'a2', 'c1']);
});

test('runs that take long leave their place to others, up to the total', async () => {
  const { clock, started, acquire, release } = aLimiter();
  acquire('a1', 'b1', 'c1', 'd1', 'e1');
  await clock.advance(499);
  assert.deepEqual(started, ['a1', 'b1']);
  await clock.advance(1);
  assert.deepEqual(started, ['a1', 'b1', 'c1', 'd1']);
  await clock.advance(1000);
  assert.deepEqual(started, ['a1', 'b1', 'c1', 'd1']);
  release('b1');
  assert.deepEqual(started, ['a1', 'b1', 'c1', 'd1', 'e1']);
});

test('one pod does not get all places', async () => {
  const { clock, started, acquire, release } = aLimiter({ overdueAfterMs: Infinity, active: 4, total: 4 });
  acquire('a1', 'a2', 'a3', 'a4', 'b1');
  assert.deepEqual(started, ['a1', 'a2', 'a3', 'b1']);
  release('b1');
  assert.deepEqual(started, ['a1', 'a2', 'a3', 'b1']);
  release('a1');
  assert.deepEqual(started, ['a1', 'a2', 'a3', 'b1', 'a4']);
  await clock.advance(10_000);
});

test('pods whose runs hang keep no run from another pod', async () => {
  const { clock, started, acquire, release } = aLimiter({ guaranteed: 1 });
  acquire('a1', 'a2', 'a3', 'b1', 'b2');
  await clock.advance(500);
  assert.deepEqual(started, ['a1', 'a2', 'a3', 'b1']);
  acquire('c1', 'c2', 'd1');
  await clock.advance(500);
  assert.deepEqual(started, ['a1', 'a2', 'a3', 'b1', 'c1', 'd1']);
  release('c1');
  assert.deepEqual(started, ['a1', 'a2', 'a3', 'b1', 'c1', 'd1', 'c2']);
});

test('a limit without active runs does not keep a pod from its guaranteed run', () => {
  const { started, acquire } = aLimiter({ active: Infinity, overdueAfterMs: Infinity, total: 2, perPod: 2, guaranteed: 1 });
  acquire('a1', 'a2', 'a3', 'b1', 'b2');
  assert.deepEqual(started, ['a1', 'a2', 'b1']);
});

test('a pod that has kept the thread busy waits until its share has paid for it, and others do not', async () => {
  const { clock, started, acquire, release, charge, hasTimeLeft } = aLimiter({ active: Infinity, overdueAfterMs: Infinity });
  acquire('a1');
  charge('a1', 500);
  release('a1');
  acquire('a2');
  assert.equal(hasTimeLeft('a2'), true);
  charge('a2', 100);
  assert.equal(hasTimeLeft('a2'), false);
  release('a2');
  acquire('a3', 'b1');
  assert.deepEqual(started, ['a1', 'a2', 'b1']);
  await clock.advance(1999);
  assert.deepEqual(started, ['a1', 'a2', 'b1']);
  await clock.advance(1);
  assert.deepEqual(started, ['a1', 'a2', 'b1', 'a3']);
  await clock.advance(60_000);
  release('a3');
  acquire('a4');
  assert.equal(started.at(-1), 'a4');
});

const names = (pod: string, count: number) => Array.from({ length: count }, (_, index) => `${pod}${index}`);

test('a pod whose handshakes are not known yet has a dozen of them at once, and others do not wait for it', () => {
  const unlimited = { active: Infinity, overdueAfterMs: Infinity, total: 2048, perPod: 256 };
  const { started, acquireTLS, acquire, charge, release } = aLimiter(unlimited);
  acquireTLS(...names('a', 40));
  acquireTLS('b1');
  acquire('c1');
  assert.deepEqual(started, [...names('a', 12), 'b1', 'c1']);
  // The first one tells that they are cheap.
  charge('a0', 1);
  release('a0');
  assert.equal(started.length, 42);
});

test('a pod with costly handshakes has those that its share pays for', async () => {
  const unlimited = { active: Infinity, overdueAfterMs: Infinity, total: 2048, perPod: 256 };
  const { clock, started, acquireTLS, charge, release } = aLimiter(unlimited);
  acquireTLS(...names('a', 40));
  for (let index = 0; index < started.length; index += 1) {
    charge(`a${index}`, 50);
    release(`a${index}`);
  }
  const first = started.length;
  assert.ok(first >= 11 && first <= 13, `${first} started`);
  // 50 ms are a twentieth of a second.
  await clock.advance(10_000);
  for (let index = first; index < started.length; index += 1) {
    charge(`a${index}`, 50);
    release(`a${index}`);
  }
  assert.ok(started.length >= first + 9 && started.length <= first + 12, `${started.length} started`);
});
