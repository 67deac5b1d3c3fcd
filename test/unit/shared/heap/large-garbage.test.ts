import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { collectHeap } from '../../../../src/shared/heap/collect-heap.ts';
import { LargeGarbage } from '../../../../src/shared/heap/large-garbage.ts';

const mebibyte = 1024 * 1024;

test('the heap is collected after each 16 MiB in large pieces, and not for small ones', async () => {
  let collections = 0;
  const garbage = new LargeGarbage(() => (collections += 1));
  const addTimes = async (times: number, bytes: number) => {
    for (let index = 0; index < times; index += 1) garbage.add(bytes);
    const before = collections;
    await nextIteration();
    return [before, collections];
  };
  assert.deepEqual(await addTimes(1000, 100 * 1024), [0, 0]);
  assert.deepEqual(await addTimes(1, 15 * mebibyte), [0, 0]);
  assert.deepEqual(await addTimes(1, mebibyte), [0, 1]);
  assert.deepEqual(await addTimes(31, mebibyte), [1, 2]);
});

test('a collection frees large strings, which are outside of the heap', () => {
  const held = () => process.memoryUsage().heapUsed + process.memoryUsage().external;
  const texts = Array.from({ length: 4 }, () => Buffer.alloc(16 * mebibyte, 'a').toString());
  const before = held();
  assert.equal(texts.length, 4);
  texts.length = 0;
  collectHeap('regular');
  assert.ok(before - held() > 60 * mebibyte, `${before} ${held()}`);
});
