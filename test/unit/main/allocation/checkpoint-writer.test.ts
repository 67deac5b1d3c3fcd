import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CheckpointWriter } from '../../../../src/main/allocation/checkpoint-writer.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { silentLogger as logger } from '../../../support/logger.ts';

function aWriter() {
  const clock = new FakeClock();
  let content = 0;
  const writtenAtMs: number[] = [];
  const writer = new CheckpointWriter({
    files: [{ path: '/checkpoint', encode: () => String(content) }],
    consequence: 'not written',
    clock,
    logger,
    write: async () => void writtenAtMs.push(clock.monotonic()),
    sync: async () => {},
  });
  const change = () => {
    content += 1;
    return writer.flush();
  };
  return { clock, change, writtenAtMs };
}

test('a single change is written at once', async () => {
  const { clock, change, writtenAtMs } = aWriter();
  for (let times = 0; times < 3; times += 1) {
    const atMs = clock.monotonic();
    await change();
    assert.equal(writtenAtMs.at(-1), atMs);
    await clock.advance(100);
  }
});

for (const everyMs of [5, 40]) {
  test(`changes each ${everyMs} ms for two seconds need at most ten writes, and each is written`, async () => {
    const { clock, change, writtenAtMs } = aWriter();
    const changes: Promise<void>[] = [];
    for (let ms = 0; ms < 2000; ms += everyMs) {
      changes.push(change());
      await clock.advance(everyMs);
    }
    await clock.advance(1000);
    await Promise.all(changes);
    assert.ok(writtenAtMs.length <= 10, writtenAtMs.join());
  });
}
