import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SharedQueue } from '../../../../../src/workers/images/pulls/shared-queue.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

function aQueue(limit: number | null, maxHoldMs: number | null) {
  const clock = new FakeClock();
  const queue = new SharedQueue<string>({ limit, maxHoldMs, clock });
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const run = (key: string) =>
    queue.run(key, () => {
      started.push(key);
      return new Promise<string>((resolve) => ends.set(key, () => resolve(key)));
    });
  return { clock, run, started, end: (key: string) => ends.get(key)?.() };
}

test('calls run in the order of the requests, as many as the limit allows', async () => {
  const { run, started, end } = aQueue(2, null);
  const calls = ['a', 'b', 'c', 'd'].map(run);
  await settle();
  assert.deepEqual(started, ['a', 'b']);
  end('b');
  assert.equal(await calls[1], 'b');
  await settle();
  assert.deepEqual(started, ['a', 'b', 'c']);
});

test('a call that stalls stops counting, once, and its result still arrives', async () => {
  const { clock, run, started, end } = aQueue(1, 60_000);
  const stalled = run('stalled');
  void run('next');
  void run('last');
  await clock.advance(59_999);
  assert.deepEqual(started, ['stalled']);
  await clock.advance(1);
  assert.deepEqual(started, ['stalled', 'next']);
  end('stalled');
  assert.equal(await stalled, 'stalled');
  await settle();
  assert.deepEqual(started, ['stalled', 'next']);
  end('next');
  await settle();
  assert.deepEqual(started, ['stalled', 'next', 'last']);
});
