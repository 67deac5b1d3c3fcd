import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerID } from '../../../../../src/shared/kubernetes/ids.ts';
import { CheckQueue } from '../../../../../src/workers/images/log-rotation/check-queue.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';

function aQueue(workers: number) {
  const clock = new FakeClock();
  const started: string[] = [];
  const ends = new Map<string, () => void>();
  const queue = new CheckQueue({
    workers,
    clock,
    check: (id) => {
      started.push(id);
      return new Promise((resolve) => ends.set(id, resolve));
    },
  });
  const add = (...ids: string[]) => ids.forEach((id) => queue.add(id as ContainerID));
  const end = async (id: string) => {
    ends.get(id)!();
    await settle();
  };
  return { clock, queue, started, add, end };
}

test('as many checks run as there are workers, each container once', async () => {
  const { started, add, end } = aQueue(2);
  add('a', 'b', 'c', 'c', 'a');
  assert.deepEqual(started, ['a', 'b']);
  await end('a');
  assert.deepEqual(started, ['a', 'b', 'c']);
  add('a', 'b');
  await end('b');
  assert.deepEqual(started, ['a', 'b', 'c', 'a']);
});

test('a check that hangs leaves its place to others after five seconds', async () => {
  const { clock, started, add, end } = aQueue(1);
  add('hangs', 'b', 'c');
  await clock.advance(4999);
  assert.deepEqual(started, ['hangs']);
  await clock.advance(1);
  assert.deepEqual(started, ['hangs', 'b']);
  // The end of an overdue check gives no second place.
  await end('hangs');
  assert.deepEqual(started, ['hangs', 'b']);
  await end('b');
  assert.deepEqual(started, ['hangs', 'b', 'c']);
});

test('a closed queue starts nothing and waits for what runs', async () => {
  const { queue, started, add, end } = aQueue(1);
  add('a', 'b');
  let closed = false;
  void queue.close().then(() => (closed = true));
  add('c');
  await settle();
  assert.equal(closed, false);
  await end('a');
  assert.deepEqual([closed, started], [true, ['a']]);
});
