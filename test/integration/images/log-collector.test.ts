import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, utimes } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { collectPodLogs } from '../../../src/workers/images/log-collector.ts';

test('log folders of pods that are gone are removed, those of pods that came meanwhile are not', async (t) => {
  const folder = await mkdtemp(join(tmpdir(), 'pod-logs-'));
  t.after(() => rm(folder, { recursive: true }));
  const requestedAtMs = Date.UTC(2026, 0, 1);
  for (const [name, madeAtMs] of [
    ['default_web_gone', requestedAtMs - 1000],
    ['default_web_stays', requestedAtMs - 1000],
    ['default_web_new', requestedAtMs + 1],
  ] as const) {
    await mkdir(join(folder, name, 'app'), { recursive: true });
    await utimes(join(folder, name), madeAtMs / 1000, madeAtMs / 1000);
  }
  assert.equal(await collectPodLogs(folder, (uid) => uid !== 'stays', requestedAtMs), 1);
  assert.deepEqual((await readdir(folder)).sort(), ['default_web_new', 'default_web_stays']);
  assert.equal(await collectPodLogs(join(folder, 'none'), () => true, requestedAtMs), 0);
});
