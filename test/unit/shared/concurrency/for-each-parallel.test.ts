import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { forEachParallel } from '../../../../src/shared/concurrency/for-each-parallel.ts';

suite('a parallel loop', () => {
  test('runs each item once, and at most `limit` at a time', async () => {
    const done: number[] = [];
    let active = 0;
    let most = 0;
    await forEachParallel([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
      active += 1;
      most = Math.max(most, active);
      await Promise.resolve();
      active -= 1;
      done.push(item);
    });
    assert.deepEqual(
      done.toSorted((a, b) => a - b),
      [1, 2, 3, 4, 5, 6, 7],
    );
    assert.equal(most, 3);
  });

  test('starts no item after a failure', async () => {
    const started: number[] = [];
    const act = async (item: number) => {
      started.push(item);
      await Promise.resolve();
      if (item === 2) throw new Error('item 2');
    };
    await assert.rejects(forEachParallel([1, 2, 3, 4, 5, 6], 2, act), /item 2/);
    await new Promise(setImmediate);
    assert.deepEqual(started, [1, 2, 3]);
  });
});
