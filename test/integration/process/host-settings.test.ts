import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readCgroupVersion, checkSwap, setOOMScore } from '../../../src/main/process/host-settings.ts';
import { aLogger } from '../../support/logger.ts';

function withFile(text: string, use: (path: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'host-settings-'));
  try {
    const path = join(folder, 'file');
    writeFileSync(path, text);
    use(path);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const header = 'Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n';

test('a host without swap is accepted, and so is a kernel without the swap table', () => {
  withFile(header, (path) => checkSwap(path));
  checkSwap('/does/not/exist');
});

test('a host with swap is rejected, with the name of the swap device', () => {
  withFile(`${header}/dev/sda2 partition 1000 0 -2\n/swap file 10 0 -3\n`, (path) => {
    assert.throws(() => checkSwap(path), /running with swap on is not supported.*\(swap on: \/dev\/sda2, \/swap\)$/);
  });
});

test('a host whose cgroup directory is not a cgroup2 mount has version 1', () => {
  assert.equal(readCgroupVersion(tmpdir()), 1);
  assert.equal(readCgroupVersion('/does/not/exist'), 1);
});

/** Sets the limit in a process of its own, and returns its limits and the messages of the log. */
function openFilesAfter(max: number, shell = ''): { soft: number; hard: number; logged: string[] } {
  const project = join(import.meta.dirname, '../../..');
  const script = `
    const { setMaxOpenFiles } = await import('${project}/src/main/process/host-settings.ts');
    const { openFilesLimits } = await import('${project}/src/shared/linux/native.ts');
    const logged = [];
    setMaxOpenFiles(${max}, { warn: (fields, message) => logged.push(message) });
    console.log(JSON.stringify({ ...openFilesLimits(), logged }));`;
  return JSON.parse(
    execFileSync('sh', ['-c', `${shell} exec "$0" --input-type=module -e "$1"`, process.execPath, script], { encoding: 'utf8' }),
  ) as ReturnType<typeof openFilesAfter>;
}

test('the limit of open files is the configured one; 0 leaves it', () => {
  assert.deepEqual(openFilesAfter(600), { soft: 600, hard: 600, logged: [] });
  assert.deepEqual(openFilesAfter(0, 'ulimit -n 700;'), { soft: 700, hard: 700, logged: [] });
});

test('without the permission to raise the limit of open files the highest allowed one is used, with a warning', () => {
  const { soft, hard, logged } = openFilesAfter(2000, 'ulimit -n 800;');
  // With CAP_SYS_RESOURCE the limit is raised.
  if (hard === 2000) return assert.deepEqual([soft, logged], [2000, []]);
  assert.deepEqual({ soft, hard, logged }, { soft: 800, hard: 800, logged: ['Failed to set rlimit on max file handles'] });
});

test('an OOM score that cannot be set is a warning', () => {
  const { logger, lines } = aLogger();
  setOOMScore(-999, logger, '/does/not/exist/oom_score_adj');
  assert.equal(lines[0]?.msg, 'Could not set the OOM score of the kubelet');
});
