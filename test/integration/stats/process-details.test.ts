import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { countFiles, ProcessDetailsSampler } from '../../../src/workers/stats/process-details.ts';

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

function count(proc: string, pids: string, maxSteps = Infinity) {
  const steps = [];
  for (const step of countFiles(proc, () => pids)) if (steps.push(step) >= maxSteps) break;
  return steps;
}

test('this process has open files, a limit, and no more sockets than files', () => {
  const { details } = count('/proc', `${process.pid}\n`).at(-1)!;
  assert.ok(details.fileDescriptors >= 3 && details.sockets <= details.fileDescriptors, JSON.stringify(details));
  assert.ok(details.maxOpenFiles > 100 || details.maxOpenFiles === -1);
});

test('files and sockets of all processes are counted; a process that has ended has none', () => {
  const proc = aProc({ 1: ['socket:[1]', '/dev/null'], 2: ['socket:[2]', 'socket:[3]', 'pipe:[4]'] });
  const detailsOf = (pids: string, folder = proc) => count(folder, pids).at(-1)!.details;
  assert.deepEqual(detailsOf('1\n3\n2\n'), { fileDescriptors: 5, sockets: 3, maxOpenFiles: 1024 });
  assert.deepEqual(detailsOf('1\n2'), { fileDescriptors: 5, sockets: 3, maxOpenFiles: 1024 });
  assert.equal(detailsOf('1\n', aProc({ 1: [] }, 'unlimited')).maxOpenFiles, -1);
  for (const pids of ['3\n', '', '\n']) assert.deepEqual(detailsOf(pids), { fileDescriptors: 0, sockets: 0, maxOpenFiles: NaN });
});

test('a count goes in steps, of files and of processes', () => {
  const many = aProc({ 1: Array.from({ length: 300 }, () => 'socket:[1]') });
  const steps = count(many, '1\n');
  assert.deepEqual(
    steps.map(({ details, isLast }) => [details.sockets, isLast]),
    [
      [127, false],
      [255, false],
      [300, true],
    ],
  );
  const processes = Array.from({ length: 300 }, (_, pid) => String(pid + 1));
  assert.equal(count(aProc(Object.fromEntries(processes.map((pid) => [pid, []]))), processes.join('\n')).length, 3);
});

test('a count that is ended early closes its directory', () => {
  const proc = aProc({ 1: Array.from({ length: 300 }, () => 'socket:[1]') });
  const openBefore = readdirSync('/proc/self/fd').length;
  assert.equal(count(proc, '1\n', 1).length, 1);
  assert.equal(readdirSync('/proc/self/fd').length, openBefore);
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

test('files are counted completely, over several samples, and a large count delays no small one', async () => {
  const proc = aProc({ 1: Array.from({ length: 15_000 }, () => 'socket:[1]'), 2: ['socket:[1]'] });
  const sampler = new ProcessDetailsSampler<string>(proc);
  const cgroups = new Map(
    [['large', '1\n'] as const, ['larger', '1\n1\n1\n'] as const, ['small', '2\n'] as const].map(([key, pids]) => [
      key,
      { reader: { readProcesses: () => pids } },
    ]),
  );
  const sockets = () => ['large', 'larger', 'small'].map((key) => sampler.of(key).sockets);
  await sampler.sample(cgroups);
  assert.ok(sockets()[1]! < 45_000, 'the bound of a sample is 40,000 files');
  assert.equal(sockets()[2], 1);
  for (let sample = 0; sample < 2; sample += 1) await sampler.sample(cgroups);
  assert.deepEqual(sockets(), [15_000, 45_000, 1]);
  // The next count shows nothing before it is complete.
  for (let sample = 0; sample < 8; sample += 1) {
    await sampler.sample(cgroups);
    assert.deepEqual(sockets(), [15_000, 45_000, 1]);
  }
  sampler.close();
});
