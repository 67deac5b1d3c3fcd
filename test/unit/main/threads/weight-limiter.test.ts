import assert from 'node:assert/strict';
import { test } from 'node:test';
import { podWeight } from '../../../../src/main/threads/pod-weight.ts';
import { WeightLimiter } from '../../../../src/main/threads/weight-limiter.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { aContainer, aPod } from '../../../support/pods/pods.ts';

const mebibyte = 1024 * 1024;
const { signal } = new AbortController();

function aLimiter() {
  const clock = new FakeClock();
  const limiter = new WeightLimiter(clock);
  const seen: string[] = [];
  const ends = new Map<string, () => void>();
  const enter = (name: string, mebibytes: number, by = signal) =>
    limiter.enter(mebibytes * mebibyte, by)?.then(
      (end) => {
        ends.set(name, end);
        return seen.push(name);
      },
      (err: unknown) => seen.push(`${name}: ${String(err)}`),
    );
  return { clock, limiter, seen, ends, enter };
}

test('the tasks of large pods take turns, and those of small ones need none', async () => {
  const { limiter, seen, ends, enter } = aLimiter();
  for (const name of ['a', 'b', 'c', 'd']) void enter(name, 40);
  assert.equal(limiter.enter(100_000, signal), null);
  await settle();
  assert.deepEqual([seen, limiter.waiting], [['a', 'b'], 2]);
  ends.get('a')!();
  ends.get('a')!();
  await settle();
  assert.deepEqual(seen, ['a', 'b', 'c']);
});

test('a task that has run for long no longer counts, up to the second limit', async () => {
  const { clock, seen, ends, enter } = aLimiter();
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) void enter(name, 40);
  await clock.advance(30_000);
  assert.deepEqual(seen, ['a', 'b', 'c', 'd']);
  await clock.advance(60_000);
  assert.deepEqual(seen, ['a', 'b', 'c', 'd']);
  ends.get('c')!();
  await settle();
  assert.deepEqual(seen, ['a', 'b', 'c', 'd', 'e']);
});

test('a task that is stopped while it waits gives way, and so do all when the pool closes', async () => {
  const { limiter, seen, enter } = aLimiter();
  const stop = new AbortController();
  void enter('a', 64);
  void enter('b', 64, stop.signal);
  void enter('c', 30);
  void enter('d', 30);
  await settle();
  stop.abort('stopped');
  await settle();
  assert.deepEqual(seen, ['a', 'b: stopped', 'c']);
  limiter.close(new Error('closed'));
  await settle();
  assert.equal(seen.at(-1), 'd: Error: closed');
});

test('the weight of a pod is that of its copy', () => {
  assert.ok(podWeight(aPod()) < 10_000);
  const many = Array.from({ length: 100_000 }, (_, index) => ({ name: `A${index}` }));
  const weight = podWeight(aPod({ spec: { containers: [aContainer({ env: many })] } }));
  assert.ok(weight > 6_000_000 && weight < 10_000_000, String(weight));
  assert.equal(podWeight(aPod({ spec: { containers: [aContainer({ args: ['x'.repeat(100_000_000)] })] } })), 64 * mebibyte);
});
