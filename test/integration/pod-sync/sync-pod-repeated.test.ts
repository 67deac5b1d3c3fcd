import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { aPod } from '../../support/pods/pod-sync-samples.ts';
import { PodSyncHarness } from '../../support/pods/pod-sync-harness.ts';

/** Writes a container's log file, as the runtime does at its start. */
const writeLog = (harness: PodSyncHarness, name: string, count: number) =>
  writeFileSync(join(harness.settings.podLogsDir, `default_web_uid-1/${name}/${count}.log`), '');
const instances = (harness: PodSyncHarness) =>
  harness.runtime.status('uid-1')?.containers.map(({ name, state, restartCount }) => `${name} ${state} ${restartCount}`);

test('a repeated task whose status lacks its sandbox keeps the sandbox and requests an inspection', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  writeLog(harness, 'app', 0);
  const { result } = await harness.syncToEnd(aPod(), { status: null });
  assert.deepEqual(result, { outcome: 'synced', waiting: {}, backoffs: [], changedRuntime: true, retryAtMs: harness.clock.now() + 1000 });
  assert.deepEqual(instances(harness), ['app running 0']);
});

test('a repeated task whose status lacks its container does not start a second one', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  writeLog(harness, 'app', 0);
  const { channel, result } = await harness.syncToEnd(aPod(), { withoutContainers: true });
  assert.equal(result.outcome, 'synced');
  assert.equal(result.changedRuntime, true);
  assert.deepEqual(channel.events, []);
  assert.deepEqual(instances(harness), ['app running 0']);
});

test('a repeated task whose status lacks a restart keeps the new instance', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  harness.runtime.exit('app', 1);
  const before = harness.runtime.status('uid-1');
  await harness.syncToEnd(aPod());
  const run = harness.run({ kind: 'sync', pod: aPod(), status: before, apiStatus: {}, backoffs: [] }, 'uid-1');
  assert.equal((await run.result).outcome, 'synced');
  assert.deepEqual(instances(harness), ['app running 1', 'app exited 0']);
});

test('a container that a lost task created and did not start is replaced', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  harness.runtime.change('app', { state: 'created' });
  await harness.syncToEnd(aPod(), { withoutContainers: true });
  assert.ok(harness.runtime.calls.includes('removeContainer app-2'));
  assert.deepEqual(
    harness.runtime.status('uid-1')?.containers.map(({ id, state }) => `${id} ${state}`),
    ['app-3 running'],
  );
});

test('an instance that was created and never started is removed before the next one is created', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  harness.runtime.change('app', { state: 'created' });
  await harness.syncToEnd(aPod());
  assert.deepEqual(instances(harness), ['app running 1']);
});

test('an instance that has started since the status was read is kept, and no other is created', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  harness.runtime.change('app', { state: 'created' });
  const before = structuredClone(harness.runtime.status('uid-1'));
  harness.runtime.change('app', { state: 'running' });
  await harness.run({ kind: 'sync', pod: aPod(), status: before, apiStatus: {}, backoffs: [] }, 'uid-1').result;
  assert.deepEqual(instances(harness), ['app running 0']);
});

test('a sandbox that a lost task left not ready is removed and created again', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(aPod());
  harness.runtime.loseSandbox();
  await harness.syncToEnd(aPod(), { status: null });
  assert.deepEqual(harness.runtime.calls.slice(5, 9), [
    'findSandboxes',
    'stopPodSandbox sandbox-1',
    'removePodSandbox sandbox-1',
    'runPodSandbox 0',
  ]);
});

test('a pod whose sandbox cannot be created pulls its image with the first attempt only', async () => {
  using harness = new PodSyncHarness();
  for (let attempt = 0; attempt < 3; attempt += 1) harness.runtime.failNext('runPodSandbox', 'no network');
  const pulls = async (isRetry: boolean) =>
    (await harness.syncToEnd(aPod(), { isRetry })).channel.requests.filter(({ type }) => type === 'ensureImage').length;
  assert.equal(await pulls(false), 1);
  assert.equal(await pulls(true), 0);
  assert.equal(await pulls(true), 0);
  assert.equal(await pulls(true), 1);
});
