import assert from 'node:assert/strict';
import { test } from 'node:test';
import { iterateWithYields } from '../../../../../../src/workers/pod-sync/pod/volumes/iterate-with-yields.ts';

test('items that take long leave time for others in between, and all come in their order', async () => {
  const seen: number[] = [];
  let others = 0;
  const other = setInterval(() => (others += 1), 1);
  for await (const item of iterateWithYields(Array.from({ length: 20 }, (_, index) => index))) {
    seen.push(item);
    const untilMs = performance.now() + 3;
    while (performance.now() < untilMs);
  }
  clearInterval(other);
  assert.deepEqual(
    seen,
    Array.from({ length: 20 }, (_, index) => index),
  );
  assert.ok(others >= 5, String(others));
});
