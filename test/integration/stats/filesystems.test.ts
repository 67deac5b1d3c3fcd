import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { CriClient } from '../../../src/shared/cri/client.ts';
import { createUsageTable, UsageReader, UsageWriter } from '../../../src/shared/state/usage-table.ts';
import { FilesystemSampler } from '../../../src/workers/images/filesystem-sampler.ts';
import { NodeFilesystems } from '../../../src/workers/stats/node-filesystems.ts';
import { readLogUsage } from '../../../src/workers/stats/read-log-usage.ts';
import { RootFilesystem } from '../../../src/workers/stats/root-filesystem.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aLogger } from '../../support/logger.ts';

const folder = mkdtempSync(join(tmpdir(), 'filesystems-'));
after(() => rmSync(folder, { recursive: true }));

const usageOf = (mountpoint: string, usedBytes: bigint) => ({
  timestamp: 0n,
  fsId: { mountpoint },
  usedBytes: { value: usedBytes },
  inodesUsed: undefined,
});

function aSampler(imageFilesystems: unknown[], containerFilesystems: unknown[], splitDisks = true) {
  const usage = createUsageTable(1);
  const { logger } = aLogger();
  const images = { call: async () => ({ imageFilesystems, containerFilesystems }) } as unknown as CriClient['images'];
  const sampler = new FilesystemSampler({ images, deadlineMs: 1000, usage, splitDisks, clock: new FakeClock(7000), logger });
  return { sampler, reader: new UsageReader(usage) };
}

test('images and containers on one filesystem have equal usage', async () => {
  const { sampler, reader } = aSampler([usageOf(folder, 5n)], [usageOf(folder, 6n)]);
  await sampler.sample();
  const image = reader.filesystem('image')!;
  assert.deepEqual([image.usedBytes, image.readAtMs, Number.isNaN(image.inodesUsed)], [5, 7000, true]);
  assert.ok(image.capacityBytes > image.availableBytes && image.availableBytes > 0);
  assert.equal(reader.filesystem('container')?.usedBytes, 5);
  assert.equal(reader.filesystem('root'), undefined);
});

test('split disks have separate usage, unless the gate is off', async () => {
  const disks = [usageOf(folder, 5n), usageOf('/proc', 6n)];
  const split = aSampler([disks[0]], [disks[1]]);
  await split.sampler.sample();
  assert.equal(split.reader.filesystem('container')?.usedBytes, 6);
  const joined = aSampler([disks[0]], [disks[1]], false);
  await joined.sampler.sample();
  assert.equal(joined.reader.filesystem('container')?.usedBytes, 5);
});

test('a mount point that this host does not have leaves the runtime’s own numbers', async () => {
  const { sampler, reader } = aSampler([usageOf('/nowhere', 5n)], []);
  await sampler.sample();
  const { usedBytes, capacityBytes } = reader.filesystem('image')!;
  assert.deepEqual([usedBytes, capacityBytes], [5, NaN]);
  const split = aSampler([usageOf('/nowhere', 5n)], [usageOf('/nowhere-else', 6n)]);
  await split.sampler.sample();
  assert.equal(split.reader.filesystem('container')?.usedBytes, 6);
});

test('a runtime without filesystems fails the sample', async () => {
  const { sampler } = aSampler([], []);
  await assert.rejects(sampler.sample(), /imageFs information is unavailable/);
});

test('calls during a sample share the next one', async () => {
  let calls = 0;
  const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
  const images = {
    call: async () => {
      calls += 1;
      await answered;
      return { imageFilesystems: [usageOf(folder, BigInt(calls))], containerFilesystems: [] };
    },
  } as unknown as CriClient['images'];
  const usage = createUsageTable(1);
  const { logger } = aLogger();
  const sampler = new FilesystemSampler({ images, deadlineMs: 1000, usage, splitDisks: true, clock: new FakeClock(7000), logger });
  const first = sampler.sample();
  await Promise.resolve();
  await Promise.resolve();
  const others = [sampler.sample(), sampler.sample()];
  answer();
  await Promise.all([first, ...others]);
  assert.deepEqual([calls, new UsageReader(usage).filesystem('image')?.usedBytes], [2, 2]);
});

test('the root filesystem is measured beside the others', async () => {
  const usage = createUsageTable(1);
  await new RootFilesystem(folder, usage, new FakeClock(7000)).sample();
  const root = new UsageReader(usage).filesystem('root')!;
  assert.ok(root.usedBytes > 0 && root.usedBytes <= root.capacityBytes && root.inodesUsed === root.inodes - root.inodesFree);
});

test('the logs of a container are its files, not what a symlink or a folder holds', () => {
  const logs = join(folder, 'app');
  mkdirSync(join(logs, 'folder'), { recursive: true });
  writeFileSync(join(logs, '0.log'), Buffer.alloc(10_000, 'x'));
  writeFileSync(join(logs, 'folder/other'), Buffer.alloc(100_000, 'x'));
  symlinkSync('/proc/kcore', join(logs, 'link'));
  const { bytes, inodes } = readLogUsage(logs)!;
  assert.ok(bytes >= 8192 && bytes < 100_000, String(bytes));
  assert.equal(inodes, 2);
  assert.equal(readLogUsage(join(folder, 'nothing')), undefined);
});

test('the filesystems of this host have a capacity; those that are gone leave the table', async () => {
  const usage = createUsageTable(1);
  const [writer, reader] = [new UsageWriter(usage), new UsageReader(usage)];
  const filesystems = new NodeFilesystems('/nowhere', (found) => writer.setNodeFilesystems(found));
  filesystems.findMounts();
  await filesystems.sample();
  const found = reader.nodeFilesystems();
  assert.ok(found.length > 0 && new Set(found.map(({ device }) => device)).size === found.length);
  assert.ok(found.some(({ capacityBytes, usedBytes }) => capacityBytes > usedBytes && usedBytes > 0));
  writer.setNodeFilesystems(found.slice(0, 1));
  assert.deepEqual(reader.nodeFilesystems(), found.slice(0, 1));
});
