import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FilesystemGrowth } from '../../../../../src/workers/images/log-rotation/filesystem-growth.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const mebi = 1024 * 1024;

/** A disk that `mebiPerSecond` are written to. Each growth leads to a check of all logs, which counts from then on. */
function aDisk({ mebiPerSecond = 0, maxSizeBytes = 10 * mebi } = {}) {
  const clock = new FakeClock();
  const disk = { mebiPerSecond, failure: null as Error | null, removedBytes: 0, checksMs: [] as number[] };
  const growth: FilesystemGrowth = new FilesystemGrowth({
    usedBytes: async () => {
      if (disk.failure) throw disk.failure;
      return 1000 * mebi + (clock.monotonic() / 1000) * disk.mebiPerSecond * mebi - disk.removedBytes;
    },
    maxSizeBytes,
    clock,
    onGrowth: () => {
      disk.checksMs.push(clock.monotonic());
      growth.reset();
    },
  });
  growth.start();
  return { clock, disk, growth };
}

test('a log that gets 100 MB a second is checked after a second, and then each second', async () => {
  const { clock, disk } = aDisk({ mebiPerSecond: 100 });
  await clock.advance(4000);
  assert.deepEqual(disk.checksMs, [1000, 2000, 3000, 4000]);
});

test('growth adds up until it is five times the limit of a log, and 64 MiB', async () => {
  const slow = aDisk({ mebiPerSecond: 10 });
  await slow.clock.advance(7000);
  // The first sample has nothing to compare with.
  assert.deepEqual(slow.disk.checksMs, [6750]);
  const large = aDisk({ mebiPerSecond: 100, maxSizeBytes: 100 * mebi });
  await large.clock.advance(6000);
  assert.deepEqual(large.disk.checksMs, [5250]);
});

test('what is removed meanwhile hides growth of one sample only', async () => {
  const { clock, disk } = aDisk({ mebiPerSecond: 100 });
  await clock.advance(500);
  disk.removedBytes = 1000 * mebi;
  await clock.advance(1000);
  assert.deepEqual(disk.checksMs, [1250]);
});

test('a disk that does not grow, or cannot be read, causes no check', async () => {
  const { clock, disk } = aDisk();
  await clock.advance(5000);
  disk.mebiPerSecond = 1000;
  disk.failure = new Error('EIO');
  await clock.advance(5000);
  assert.deepEqual(disk.checksMs, []);
});

test('nothing is checked after the end', async () => {
  const { clock, disk, growth } = aDisk({ mebiPerSecond: 100 });
  growth.close();
  await clock.advance(5000);
  assert.deepEqual(disk.checksMs, []);
});
