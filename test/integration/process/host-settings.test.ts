import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { cgroupVersion, checkSwap, setOOMScore } from '../../../src/main/process/host-settings.ts';
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
  assert.equal(cgroupVersion(tmpdir()), 1);
  assert.equal(cgroupVersion('/does/not/exist'), 1);
});

test('an OOM score that cannot be set is a warning', () => {
  const { logger, lines } = aLogger();
  setOOMScore(-999, logger, '/does/not/exist/oom_score_adj');
  assert.equal(lines[0]?.msg, 'Could not set the OOM score of the kubelet');
});
