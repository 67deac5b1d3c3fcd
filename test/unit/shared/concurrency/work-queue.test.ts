import assert from 'node:assert/strict';
import { test } from 'node:test';
import { WorkQueue } from '../../../../src/shared/concurrency/work-queue.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

const uid = (name: string) => name as PodUID;

function aQueue() {
  const clock = new FakeClock();
  const woken: { readonly atMs: number; readonly due: PodUID[] }[] = [];
  const queue: WorkQueue = new WorkQueue({ clock, onDue: () => woken.push({ atMs: clock.monotonic(), due: queue.takeDue() }) });
  return { clock, queue, woken };
}

test('a pod is due exactly at its time', async () => {
  const { clock, queue, woken } = aQueue();
  queue.enqueue(uid('a'), 10_003);
  await clock.advance(10_002);
  assert.deepEqual(woken, []);
  await clock.advance(1);
  assert.deepEqual(woken, [{ atMs: 10_003, due: ['a'] }]);
});

test('pods are due in the order of their times', async () => {
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

test('enqueue replaces the due time of a pod', async () => {
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

test('a removed pod is never due', async () => {
  const { clock, queue, woken } = aQueue();
  queue.enqueue(uid('a'), 10);
  queue.remove(uid('a'));
  await clock.advance(100);
  assert.deepEqual(
    woken.flatMap(({ due }) => due),
    [],
  );
});

test('a pod has one entry, however often it is enqueued', () => {
  const { queue } = aQueue();
  for (let round = 0; round < 1000; round += 1) queue.enqueue(uid('a'), 1000 - round);
  assert.equal(queue.size, 1);
});

test('a due time may exceed the longest timer of Node', async () => {
  const { clock, queue, woken } = aQueue();
  const far = 2 ** 31 + 5000;
  queue.enqueue(uid('a'), far);
  await clock.advance(2 ** 31);
  assert.deepEqual(woken, []);
  await clock.advance(5000);
  assert.deepEqual(woken, [{ atMs: far, due: ['a'] }]);
});

test('a closed queue does not call onDue', async () => {
  const { clock, queue, woken } = aQueue();
  queue.enqueue(uid('a'), 10);
  queue.close();
  await clock.advance(100);
  assert.deepEqual(woken, []);
});
