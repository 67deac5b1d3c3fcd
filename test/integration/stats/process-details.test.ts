import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { ProcessDetailsSampler, readProcessDetails } from '../../../src/workers/stats/process-details.ts';

const folders: string[] = [];
after(() => folders.forEach((folder) => rmSync(folder, { recursive: true })));

/** A folder like /proc, in which each process has these links as its open files. */
function aProc(processes: Readonly<Record<string, readonly string[]>>, limit = '1024'): string {
  const proc = mkdtempSync(join(tmpdir(), 'proc-'));
  folders.push(proc);
  for (const [pid, links] of Object.entries(processes)) {
    mkdirSync(join(proc, pid, 'fd'), { recursive: true });
    for (const [fd, target] of links.entries()) symlinkSync(target, join(proc, pid, 'fd', String(fd)));
    writeFileSync(join(proc, pid, 'limits'), `Limit Soft Hard Units\nMax open files            ${limit}    4096    files\n`);
  }
  return proc;
}

test('this process has open files, a limit, and no more sockets than files', () => {
  const details = readProcessDetails('/proc', [String(process.pid)], 10_000);
  assert.ok(details.fileDescriptors >= 3 && details.sockets <= details.fileDescriptors, JSON.stringify(details));
  assert.ok(details.maxOpenFiles > 100 || details.maxOpenFiles === -1);
});

test('files and sockets of all processes are counted; a process that has ended has none', () => {
  const proc = aProc({ 1: ['socket:[1]', '/dev/null'], 2: ['socket:[2]', 'socket:[3]', 'pipe:[4]'] });
  const { fileDescriptors, sockets, maxOpenFiles } = readProcessDetails(proc, ['1', '2', '3'], 1000);
  assert.deepEqual([fileDescriptors, sockets, maxOpenFiles], [5, 3, 1024]);
  assert.equal(readProcessDetails(aProc({ 1: [] }, 'unlimited'), ['1'], 10).maxOpenFiles, -1);
  assert.ok(Number.isNaN(readProcessDetails(proc, ['3'], 10).maxOpenFiles));
  assert.ok(Number.isNaN(readProcessDetails(proc, [], 10).maxOpenFiles));
});

test('a process with more files than the bound is read up to it, and is cut off there', () => {
  const many = Array.from({ length: 300 }, () => 'socket:[1]');
  const { read, sockets, fileDescriptors } = readProcessDetails(aProc({ 1: many }), ['1'], 100);
  assert.deepEqual([read, sockets], [101, 100]);
  // On procfs the size of the directory is their number.
  assert.ok(fileDescriptors >= 100);
});

test('processes beyond the bound are not looked at', () => {
  const proc = aProc(Object.fromEntries(Array.from({ length: 50 }, (_, pid) => [pid, []])));
  const pids = Array.from({ length: 50 }, (_, pid) => String(pid));
  assert.equal(readProcessDetails(proc, pids, 20).read, 20);
});

test('each cgroup is counted in the first sample, and then once in six', async () => {
  const proc = aProc({ 1: ['socket:[1]'] });
  const sampler = new ProcessDetailsSampler<string>(proc);
  const reads: string[] = [];
  const cgroups = new Map(['a', 'b'].map((key) => [key, { reader: { readProcesses: () => (reads.push(key), '1\n') } }] as const));
  await sampler.sample(cgroups);
  assert.deepEqual([reads.splice(0), sampler.of('b').sockets], [['a', 'b'], 1]);
  for (let sample = 0; sample < 6; sample += 1) await sampler.sample(cgroups);
  assert.deepEqual(reads.splice(0), ['b', 'a']);
  await sampler.sample(new Map());
  assert.equal(sampler.of('b').sockets, 0);
});

test('a cgroup with very many files delays others, and starves none', async () => {
  const proc = aProc({ 1: Array.from({ length: 4000 }, () => 'socket:[1]') });
  const sampler = new ProcessDetailsSampler<number>(proc);
  const cgroups = new Map(Array.from({ length: 30 }, (_, key) => [key, { reader: { readProcesses: () => '1\n' } }]));
  const known = () => [...cgroups.keys()].filter((key) => sampler.of(key).sockets > 0).length;
  await sampler.sample(cgroups);
  // 40,000 files are the bound of a sample.
  assert.ok(known() < 30, `${known()} of 30 cgroups in one sample`);
  for (let sample = 0; sample < 3; sample += 1) await sampler.sample(cgroups);
  assert.equal(known(), 30);
});
