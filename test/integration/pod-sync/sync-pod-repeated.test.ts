import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { aPod } from '../../support/pod-sync-samples.ts';
import { SyncBench } from '../../support/pod-sync-harness.ts';

/** What the runtime writes as soon as a container runs. */
const writeLog = (bench: SyncBench, name: string, count: number) =>
  writeFileSync(join(bench.settings.podLogsDir, `default_web_uid-1/${name}/${count}.log`), '');
const instances = (bench: SyncBench) =>
  bench.runtime.status('uid-1')?.containers.map(({ name, state, restartCount }) => `${name} ${state} ${restartCount}`);

test('a task that is sent again before its sandbox was seen leaves it be, and asks for another look', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  writeLog(bench, 'app', 0);
  const { result } = await bench.synced(aPod(), { status: null });
  assert.deepEqual(result, { outcome: 'synced', waiting: {}, backoffs: [], changedRuntime: true, retryAtMs: bench.clock.now() + 1000 });
  assert.deepEqual(instances(bench), ['app running 0']);
});

test('a task that is sent again before its container was seen does not start a second one', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  writeLog(bench, 'app', 0);
  const { line, result } = await bench.synced(aPod(), { withoutContainers: true });
  assert.equal(result.outcome, 'synced');
  assert.equal(result.changedRuntime, true);
  assert.deepEqual(line.events, []);
  assert.deepEqual(instances(bench), ['app running 0']);
});

test('a task that is sent again while the restart before it was not seen leaves the new instance be', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  bench.runtime.exit('app', 1);
  const before = bench.runtime.status('uid-1');
  await bench.synced(aPod());
  const run = bench.run({ kind: 'sync', pod: aPod(), status: before, apiStatus: {}, backoffs: [] }, 'uid-1');
  assert.equal((await run.result).outcome, 'synced');
  assert.deepEqual(instances(bench), ['app running 1', 'app exited 0']);
});

test('a container that a lost task created and did not start is replaced', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  bench.runtime.change('app', { state: 'created' });
  await bench.synced(aPod(), { withoutContainers: true });
  assert.ok(bench.runtime.calls.includes('removeContainer app-2'));
  assert.deepEqual(
    bench.runtime.status('uid-1')?.containers.map(({ id, state }) => `${id} ${state}`),
    ['app-3 running'],
  );
});

test('a sandbox that a lost task left unready is removed, and made again', async () => {
  using bench = new SyncBench();
  await bench.synced(aPod());
  bench.runtime.loseSandbox();
  await bench.synced(aPod(), { status: null });
  assert.deepEqual(bench.runtime.calls.slice(5, 9), [
    'findSandboxes',
    'stopPodSandbox sandbox-1',
    'removePodSandbox sandbox-1',
    'runPodSandbox 0',
  ]);
});
