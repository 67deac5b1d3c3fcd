import assert from 'node:assert/strict';
import { test } from 'node:test';
import { IdleCollector } from '../../../../src/shared/thread/idle-collector.ts';

const mebibyte = 1024 * 1024;

/** A thread whose heap shrinks to 10 MiB with each collection. */
function aThread() {
  const thread = {
    busy: 0,
    heap: 10 * mebibyte,
    collections: 0,
    notifications: 0,
    utilization: () => thread.busy,
    heapBytes: () => thread.heap,
    collect: () => {
      thread.collections += 1;
      thread.heap = 10 * mebibyte;
    },
  };
  const collector = new IdleCollector(() => (thread.notifications += 1), thread);
  const beat = (times: number) => {
    for (let i = 0; i < times; i += 1) collector.onBeat();
  };
  return { thread, beat };
}

test('a thread’s heap is collected after ten idle seconds, and not again before it has grown and a minute is over', () => {
  const { thread, beat } = aThread();
  beat(9);
  assert.equal(thread.collections, 0);
  beat(1);
  assert.equal(thread.collections, 1);
  beat(100);
  assert.equal(thread.collections, 1);
  thread.heap = 40 * mebibyte;
  beat(1);
  assert.equal(thread.collections, 2);
  assert.equal(thread.notifications, 2);
  thread.heap = 40 * mebibyte;
  beat(59);
  assert.equal(thread.collections, 2);
  beat(1);
  assert.equal(thread.collections, 3);
});

test('the heap of a thread that was busy for half a second is collected when that is ten seconds ago', () => {
  const { thread, beat } = aThread();
  beat(9);
  thread.busy = 0.6;
  beat(1);
  thread.busy = 0;
  beat(9);
  assert.equal(thread.collections, 0);
  beat(1);
  assert.equal(thread.collections, 1);
});

test('the heap of a thread that works for a moment in each ten seconds is collected in between', () => {
  const { thread, beat } = aThread();
  beat(9);
  thread.busy = 0.1;
  beat(1);
  assert.equal(thread.collections, 0);
  thread.busy = 0;
  beat(1);
  assert.equal(thread.collections, 1);
});
