import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryTrimmer } from '../../../../src/main/threads/memory-trimmer.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

test('free memory is returned to the kernel 20 s after the last collection, then once a minute, and not after close', async () => {
  const clock = new FakeClock();
  const trims: number[] = [];
  const memory = new MemoryTrimmer(clock, async () => {
    trims.push(clock.monotonic());
    throw new Error('not here');
  });
  memory.onCollected();
  await clock.advance(19_999);
  memory.onCollected();
  await clock.advance(19_999);
  assert.deepEqual(trims, []);
  await clock.advance(60_001);
  assert.deepEqual(trims, [39_999, 99_999]);
  memory.onCollected();
  memory.close();
  await clock.advance(100_000);
  assert.deepEqual(trims, [39_999, 99_999]);
});
