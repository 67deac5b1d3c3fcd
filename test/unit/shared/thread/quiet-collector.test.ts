import assert from 'node:assert/strict';
import { test } from 'node:test';
import { QuietCollector } from '../../../../src/shared/thread/quiet-collector.ts';

const mebibyte = 1024 * 1024;

/** A thread whose heap shrinks to 10 MiB with each collection. */
function aThread() {
  const thread = {
    busy: 0,
    heap: 10 * mebibyte,
    collections: 0,
    told: 0,
    utilization: () => thread.busy,
    heapBytes: () => thread.heap,
    collect: () => {
      thread.collections += 1;
      thread.heap = 10 * mebibyte;
    },
  };
  const collector = new QuietCollector(() => (thread.told += 1), thread);
  const beat = (times: number) => {
    for (let i = 0; i < times; i += 1) collector.onBeat();
  };
  return { thread, beat };
}

test('a thread’s heap is collected once it was quiet for ten seconds, and not again before it grew', () => {
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
  assert.equal(thread.told, 2);
});

test('a busy thread is left alone, and its ten seconds begin anew', () => {
  const { thread, beat } = aThread();
  beat(9);
  thread.busy = 0.3;
  beat(1);
  thread.busy = 0.01;
  beat(9);
  assert.equal(thread.collections, 0);
  beat(1);
  assert.equal(thread.collections, 1);
});
