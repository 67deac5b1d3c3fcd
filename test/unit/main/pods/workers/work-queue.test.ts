import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkQueue } from '../../../../../src/main/pods/workers/work-queue.ts';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const uid = (name: string) => name as PodUID;

function aQueue() {
  const clock = new FakeClock();
  const woken: { readonly atMs: number; readonly due: PodUID[] }[] = [];
  const queue: WorkQueue = new WorkQueue({ clock, onDue: () => woken.push({ atMs: clock.monotonic(), due: queue.takeDue() }) });
  return { clock, queue, woken };
}

test('a pod is due at its time, not at the next poll', async () => {
  const { clock, queue, woken } = aQueue();
  queue.enqueue(uid('a'), 10_003);
  await clock.advance(10_002);
  assert.deepEqual(woken, []);
  await clock.advance(1);
  assert.deepEqual(woken, [{ atMs: 10_003, due: ['a'] }]);
});

test('pods come due in the order of their times, whatever the order in which they were put in', async () => {
  const { clock, queue, woken } = aQueue();
  for (const [name, ms] of [
    ['c', 30],
    ['a', 10],
    ['d', 40],
    ['b', 20],
  ] as const)
    queue.enqueue(uid(name), ms);
  await clock.advance(100);
  assert.deepEqual(
    woken.flatMap(({ due }) => due),
    ['a', 'b', 'c', 'd'],
  );
});

test('a later word about a pod replaces the earlier one', async () => {
  const { clock, queue, woken } = aQueue();
  queue.enqueue(uid('a'), 10);
  queue.enqueue(uid('a'), 50);
  queue.enqueue(uid('b'), 50);
  queue.enqueue(uid('b'), 20);
  await clock.advance(100);
  assert.deepEqual(woken, [
    { atMs: 20, due: ['b'] },
    { atMs: 50, due: ['a'] },
  ]);
});

test('a pod that was removed does not come due', async () => {
  const { clock, queue, woken } = aQueue();
  queue.enqueue(uid('a'), 10);
  queue.remove(uid('a'));
  await clock.advance(100);
  assert.deepEqual(
    woken.flatMap(({ due }) => due),
    [],
  );
});

test('a pod that is put in again and again costs no more than one place', () => {
  const { queue } = aQueue();
  for (let round = 0; round < 1000; round += 1) queue.enqueue(uid('a'), 1000 - round);
  assert.equal(queue.size, 1);
});

test('a due time beyond the longest timer of Node is waited for in stages', async () => {
  const { clock, queue, woken } = aQueue();
  const far = 2 ** 31 + 5000;
  queue.enqueue(uid('a'), far);
  await clock.advance(2 ** 31);
  assert.deepEqual(woken, []);
  await clock.advance(5000);
  assert.deepEqual(woken, [{ atMs: far, due: ['a'] }]);
});

test('a closed queue rings no more', async () => {
  const { clock, queue, woken } = aQueue();
  queue.enqueue(uid('a'), 10);
  queue.close();
  await clock.advance(100);
  assert.deepEqual(woken, []);
});
