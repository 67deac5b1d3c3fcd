import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { CompressionQueue, type CompressionClass } from '../../../../../src/workers/images/log-rotation/compression-queue.ts';

const maxSizeBytes = 10;
const usual = (path: string) => ({ path, sizeBytes: 4 * maxSizeBytes });
const large = (path: string) => ({ path, sizeBytes: 4 * maxSizeBytes + 1 });

function takeAll(queue: CompressionQueue, kind: CompressionClass): string[] {
  const paths: string[] = [];
  for (let path = queue.take(kind); path !== undefined; path = queue.take(kind)) paths.push(path);
  return paths;
}

suite('the queue of logs to compress', () => {
  test('logs take turns, and each begins with its newest rotation', () => {
    const queue = new CompressionQueue(maxSizeBytes);
    queue.set('fast', [usual('fast.1'), usual('fast.2'), usual('fast.3')]);
    queue.set('slow', [usual('slow.1'), usual('slow.2')]);
    assert.deepEqual(takeAll(queue, 'usual'), ['fast.3', 'slow.2', 'fast.2', 'slow.1', 'fast.1']);
  });

  test('large files wait apart from the others, also those of the same log', () => {
    const queue = new CompressionQueue(maxSizeBytes);
    queue.set('flood', [usual('flood.1'), large('flood.2'), large('flood.3')]);
    queue.set('calm', [usual('calm.1')]);
    queue.set('other', [large('other.1')]);
    assert.deepEqual(takeAll(queue, 'usual'), ['flood.1', 'calm.1']);
    assert.deepEqual(takeAll(queue, 'large'), ['flood.3', 'other.1', 'flood.2']);
  });

  test('a rotation replaces what waits of its log, and the log keeps its place', () => {
    const queue = new CompressionQueue(maxSizeBytes);
    queue.set('a', [large('a.1')]);
    queue.set('b', [large('b.1')]);
    queue.set('a', [large('a.2')]);
    assert.deepEqual(takeAll(queue, 'large'), ['a.2', 'b.1']);
    queue.set('a', [large('a.3')]);
    queue.set('a', [usual('a.4')]);
    assert.deepEqual([takeAll(queue, 'large'), takeAll(queue, 'usual')], [[], ['a.4']]);
  });

  test('without a limit on the size of a log, every file that is not empty is large', () => {
    const queue = new CompressionQueue(0);
    queue.set('a', [
      { path: 'a.1', sizeBytes: 0 },
      { path: 'a.2', sizeBytes: 1 },
    ]);
    assert.deepEqual([takeAll(queue, 'large'), takeAll(queue, 'usual')], [['a.2'], ['a.1']]);
  });
});
