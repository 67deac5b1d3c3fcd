import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { readUnfinishedHooks, removeStaleHookRecords } from '../../../src/main/probes/index.ts';
import type { ContainerID, PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { aLogger } from '../../support/logger.ts';
import { anExitedContainer, aRuntimeContainer, aRuntimePodStatus } from '../../support/pods/pods.ts';

const [runs, exited, unknown, absent] = ['runs', 'exited', 'unknown', 'absent'] as ContainerID[];

function aRootDir(t: TestContext, ...records: readonly string[]): string {
  const rootDir = mkdtempSync(join(tmpdir(), 'unfinished-hooks-'));
  t.after(() => rmSync(rootDir, { recursive: true }));
  mkdirSync(join(rootDir, 'post_start_hooks'));
  for (const record of records) writeFileSync(join(rootDir, 'post_start_hooks', record), '');
  return rootDir;
}

const containers = [
  aRuntimeContainer({ id: runs! }),
  anExitedContainer(1, { id: exited! }),
  aRuntimeContainer({ id: unknown!, state: 'unknown' }),
];
const cacheWith = (...uninspected: readonly PodUID[]) => ({
  all: () => [aRuntimePodStatus({ containers })].values(),
  uninspected: new Set(uninspected),
});

test('records of containers that have ended are removed', async (t) => {
  const { logger } = aLogger();
  const rootDir = aRootDir(t, runs!, exited!, unknown!, absent!);
  const recorded = await readUnfinishedHooks(rootDir, logger);
  assert.deepEqual(recorded.toSorted(), ['absent', 'exited', 'runs', 'unknown']);
  await removeStaleHookRecords(rootDir, recorded, cacheWith('web' as PodUID), logger);
  assert.equal(readdirSync(join(rootDir, 'post_start_hooks')).length, 4);
  await removeStaleHookRecords(rootDir, recorded, cacheWith(), logger);
  assert.deepEqual((await readUnfinishedHooks(rootDir, logger)).toSorted(), ['runs', 'unknown']);
});

test('no folder is no hook, and a folder that cannot be read is an error in the log', async (t) => {
  const { logger, lines } = aLogger();
  const rootDir = aRootDir(t);
  rmSync(join(rootDir, 'post_start_hooks'), { recursive: true });
  assert.deepEqual(await readUnfinishedHooks(rootDir, logger), []);
  assert.equal(lines.length, 0);
  writeFileSync(join(rootDir, 'post_start_hooks'), '');
  assert.deepEqual(await readUnfinishedHooks(rootDir, logger), []);
  assert.match(JSON.stringify(lines), /Cannot read which postStart hooks were interrupted/);
});
