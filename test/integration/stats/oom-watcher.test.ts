import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import type { SystemOOM } from '../../../src/shared/contracts/stats.ts';
import { OomWatcher } from '../../../src/workers/stats/oom/oom-watcher.ts';
import { aLogger } from '../../support/logger.ts';

const folder = mkdtempSync(join(tmpdir(), 'oom-'));
after(() => rmSync(folder, { recursive: true }));

function aWatcher(path: string) {
  const { logger, lines } = aLogger();
  const systemOOMs: SystemOOM[] = [];
  const kills: string[] = [];
  const watcher = new OomWatcher({
    onSystemOOM: (event) => systemOOMs.push(event),
    onKill: (cgroup) => kills.push(cgroup),
    logger,
    path,
  });
  return { watcher, systemOOMs, kills, lines };
}

test('kills since the start are counted, earlier ones are not', () => {
  const path = join(folder, 'kmsg');
  writeFileSync(path, '6,1,1,-;old invoked oom-killer: gfp_mask=0x0\n');
  const { watcher, systemOOMs, kills } = aWatcher(path);
  // Each read of /dev/kmsg returns one record.
  for (const message of ['Killed process 1 (old)', 'a invoked oom-killer: gfp_mask=0', 'Killed process 12 (stress) total-vm:1kB']) {
    appendFileSync(path, `6,2,2,-;${message}\n`);
    watcher.read();
  }
  watcher.read();
  watcher.close();
  assert.deepEqual([systemOOMs, kills], [[{ pid: 12, processName: 'stress' }], ['/']]);
});

test('a host without the kernel’s log is reported, and nothing is counted', () => {
  const { watcher, kills, lines } = aWatcher(join(folder, 'nothing'));
  watcher.read();
  watcher.close();
  assert.deepEqual([kills, lines.length], [[], 1]);
});
