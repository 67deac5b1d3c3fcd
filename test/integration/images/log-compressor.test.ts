/** The order in which rotated logs are compressed. A folder with the name of a log cannot be compressed, so each turn reports it. */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../../src/shared/time/clock.ts';
import { LogCompressor } from '../../../src/workers/images/log-rotation/log-compressor.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const maxSizeBytes = 10 * 1024;
/** gzip needs seconds for it. */
const hugeBytes = 128 * 1024 * 1024;

function aCompressor(t: TestContext, { workers = 1 } = {}) {
  const podLogsDir = mkdtempSync(join(tmpdir(), 'log-compressor-'));
  const turns: string[] = [];
  const onError = (path: string) => turns.push(path.slice(podLogsDir.length + 1));
  const compressor = new LogCompressor({ podLogsDir, maxSizeBytes, workers, clock: systemClock, onError });
  t.after(async () => {
    await compressor.close();
    rmSync(podLogsDir, { recursive: true });
  });
  /** What a rotation of the pod's log leaves to compress. */
  const rotate = (pod: string, ...rotations: readonly number[]) => {
    const log = join(podLogsDir, pod, '0.log');
    const paths = rotations.map((rotation) => `${log}.${rotation}`);
    for (const path of paths) mkdirSync(path, { recursive: true });
    compressor.add(
      log,
      paths.map((path) => ({ path, sizeBytes: 0 })),
    );
  };
  /** Creates a rotated log of incompressible bytes, and lets it wait. */
  const write = (pod: string, sizeBytes: number) => {
    const log = join(podLogsDir, pod, '0.log');
    const path = `${log}.20260101-000001`;
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, randomBytes(sizeBytes));
    compressor.add(log, [{ path, sizeBytes }]);
    return { isDone: () => existsSync(`${path}.gz`) && !existsSync(path), temporary: `${path}.tmp` };
  };
  return { podLogsDir, compressor, rotate, write, turns };
}

test('logs take turns, and each begins with its newest rotation', async (t) => {
  const { rotate, turns } = aCompressor(t);
  rotate('fast', 1);
  rotate('slow', 1, 2);
  rotate('fast', 2, 3, 4);
  rotate('other', 1);
  await waitUntil('all had their turn', () => turns.length === 7);
  assert.deepEqual(turns, [
    'fast/0.log.1',
    'slow/0.log.2',
    'fast/0.log.4',
    'other/0.log.1',
    'slow/0.log.1',
    'fast/0.log.3',
    'fast/0.log.2',
  ]);
});

test('a log that is rotated faster than it is compressed waits with its present rotations only', async (t) => {
  const { rotate, turns } = aCompressor(t);
  rotate('other', 1);
  for (let rotation = 1; rotation <= 100; rotation += 1) rotate('fast', rotation, rotation + 1);
  rotate('last', 1);
  await waitUntil('the last had its turn', () => turns.length >= 4 && turns.includes('last/0.log.1'));
  assert.deepEqual(turns, ['other/0.log.1', 'fast/0.log.101', 'last/0.log.1', 'fast/0.log.100']);
});

test('a rotated log that the runtime still writes to is not compressed', async (t) => {
  const { podLogsDir, compressor, turns } = aCompressor(t);
  const log = join(podLogsDir, '0.log');
  const rotated = `${log}.20260101-000001`;
  writeFileSync(rotated, 'a line\n');
  const writer = openSync(rotated, 'a');
  try {
    compressor.add(log, [{ path: rotated, sizeBytes: 7 }]);
    await waitUntil('its turn', () => turns.length === 1 || readdirSync(podLogsDir).join() !== '0.log.20260101-000001');
    assert.deepEqual(readdirSync(podLogsDir), ['0.log.20260101-000001']);
  } finally {
    closeSync(writer);
  }
  compressor.add(log, [{ path: rotated, sizeBytes: 7 }]);
  await waitUntil('the archive', () => readdirSync(podLogsDir).join() === '0.log.20260101-000001.gz');
});

test('huge logs delay the compression of no other log', async (t) => {
  const { compressor, write } = aCompressor(t);
  const huge = write('flood', hugeBytes);
  await waitUntil('the huge log is being compressed', () => existsSync(huge.temporary));
  write('second-flood', maxSizeBytes * 5);
  const others = Array.from({ length: 20 }, (_, n) => write(`calm-${n}`, maxSizeBytes));
  await waitUntil('the others are compressed', () => others.every(({ isDone }) => isDone()));
  assert.ok(compressor.isInProgress(huge.temporary));
  await compressor.close();
  // What is interrupted leaves no archive.
  assert.deepEqual([existsSync(huge.temporary), huge.isDone()], [false, false]);
});

test('as many logs are compressed at a time as there are workers, and one that is huge', async (t) => {
  const { compressor, write } = aCompressor(t, { workers: 2 });
  const logs = Array.from({ length: 5 }, (_, n) => write(`huge-${n}`, hugeBytes / 4));
  const active = () => logs.filter(({ temporary }) => compressor.isInProgress(temporary)).length;
  assert.equal(active(), 2);
  const other = write('calm', maxSizeBytes);
  assert.ok(compressor.isInProgress(other.temporary));
  await waitUntil('the other is compressed', other.isDone);
  assert.equal(active(), 2);
});
