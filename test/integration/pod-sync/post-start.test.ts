import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { settle } from '../../support/fake-clock.ts';
import { aContainer, aPod } from '../../support/pods/pod-sync-samples.ts';
import type { FakeTaskChannel } from '../../support/pods/fake-task-channel.ts';
import { PodSyncHarness } from '../../support/pods/pod-sync-harness.ts';

const pod = aPod({
  containers: [aContainer('app', { lifecycle: { postStart: { exec: { command: ['hello', 'world'] } } } }), aContainer('b')],
});

test('a postStart hook runs before the next container is started', async () => {
  using harness = new PodSyncHarness();
  const { result } = await harness.syncToEnd(pod);
  assert.equal(result.outcome, 'synced');
  assert.deepEqual(harness.runtime.calls.slice(3, 6), ['startContainer app', 'execSync app hello world', 'createContainer b 0']);
});

test('a failed postStart hook kills its container, and the other containers are started', async () => {
  using harness = new PodSyncHarness();
  harness.runtime.exec = () => Promise.resolve({ exitCode: 1, output: 'secret' });
  const { channel, result } = await harness.syncToEnd(pod);
  assert.deepEqual(channel.events.slice(2, 4), [
    'FailedPostStartHook spec.containers{app}: PostStartHook failed',
    'Killing spec.containers{app}: FailedPostStartHook',
  ]);
  assert.deepEqual(result.waiting['app'], {
    reason: 'PostStartHookError',
    message:
      'Exec lifecycle hook ([hello world]) for Container "app" in Pod "web_default(uid-1)" failed - error: ' +
      'command \'hello world\' exited with 1: secret, message: "secret"',
  });
  assert.deepEqual(
    harness.runtime.status('uid-1')?.containers.map(({ name, state }) => `${name} ${state}`),
    ['b running', 'app exited'],
  );
});

test('a stop of the task does not wait for a postStart hook', async () => {
  using harness = new PodSyncHarness();
  const hookStarted = Promise.withResolvers<void>();
  harness.runtime.exec = (_id, _command, signal) =>
    new Promise((_, reject) => {
      hookStarted.resolve();
      signal?.addEventListener('abort', () => reject(new Error('cancelled')));
    });
  const { channel, result } = harness.startSync(pod);
  await hookStarted.promise;
  channel.post({ type: 'stop' });
  assert.equal((await result).outcome, 'stopped');
  assert.ok(!harness.runtime.calls.some((call) => call.startsWith('stopContainer')));
});

test('a hook that the API no longer allows fails its container', async () => {
  using harness = new PodSyncHarness();
  const lifecycle = { postStart: { tcpSocket: { port: 80 } } };
  const { result } = await harness.syncToEnd(aPod({ containers: [aContainer('app', { lifecycle })] }));
  assert.deepEqual(result.waiting['app'], {
    reason: 'PostStartHookError',
    message:
      'Lifecycle hook for Container "app" in Pod "web_default(uid-1)" failed - error: invalid handler: it has neither exec, httpGet nor sleep',
  });
});

/** The IDs of the containers whose hook has not ended, on disk and as main knows them. */
function unfinished(harness: PodSyncHarness, ...channels: readonly FakeTaskChannel[]): { recorded: string[]; notified: string[] } {
  const recorded = readdirSync(join(harness.settings.rootDir, 'post_start_hooks'));
  const notified = new Set<string>();
  for (const request of channels.flatMap(({ requests }) => requests)) {
    if (request.type === 'postStartHook') notified[request.unfinished ? 'add' : 'delete'](request.container);
  }
  return { recorded, notified: [...notified] };
}

/** The hook of the next sync begins and does not end. Returns how often it has begun. */
function holdHook({ runtime }: PodSyncHarness): () => number {
  let begun = 0;
  runtime.exec = (_id, _command, signal) =>
    new Promise((_, reject) => {
      begun += 1;
      signal?.addEventListener('abort', () => reject(new Error('cancelled')));
    });
  return () => begun;
}

test('a hook that ends leaves no record, and neither does one that fails', async () => {
  for (const exitCode of [0, 1]) {
    using harness = new PodSyncHarness();
    harness.runtime.exec = async () => {
      assert.deepEqual(unfinished(harness).recorded, [harness.runtime.status('uid-1')!.containers[0]!.id]);
      return { exitCode, output: '' };
    };
    const { channel } = await harness.syncToEnd(pod);
    assert.deepEqual(unfinished(harness, channel), { recorded: [], notified: [] });
  }
});

test('a hook that the end of the kubelet interrupts runs again, before the next container starts', async () => {
  using harness = new PodSyncHarness();
  const begun = holdHook(harness);
  const first = harness.startSync(pod);
  await settle();
  assert.equal(begun(), 1);
  first.channel.post({ type: 'stop' });
  assert.equal((await first.result).outcome, 'stopped');
  const { id } = harness.runtime.status('uid-1')!.containers[0]!;
  assert.deepEqual(unfinished(harness, first.channel), { recorded: [id], notified: [id] });

  harness.runtime.calls.length = 0;
  harness.runtime.exec = async () => ({ exitCode: 0, output: '' });
  harness.unfinishedHooks = [id];
  const { channel, result } = await harness.syncToEnd(pod);
  assert.deepEqual([result.outcome, result.changedRuntime], ['synced', true]);
  assert.deepEqual(harness.runtime.calls.slice(0, 2), ['execSync app hello world', 'createContainer b 0']);
  assert.deepEqual(unfinished(harness, first.channel, channel), { recorded: [], notified: [] });
});

test('a hook that was interrupted and then fails kills its container', async () => {
  using harness = new PodSyncHarness();
  await harness.syncToEnd(pod);
  const app = harness.runtime.status('uid-1')!.containers.find(({ name }) => name === 'app')!;
  harness.unfinishedHooks = [app.id];
  harness.runtime.exec = async () => ({ exitCode: 1, output: '' });
  const { channel, result } = await harness.syncToEnd(pod);
  assert.equal(result.waiting['app']?.reason, 'PostStartHookError');
  assert.match(channel.events[0] ?? '', /^FailedPostStartHook /);
  assert.deepEqual(
    harness.runtime.status('uid-1')?.containers.map(({ name, state }) => `${name} ${state}`),
    ['b running', 'app exited'],
  );
});

test('a hook that the end of its thread interrupts runs again when the task is sent again', async () => {
  using harness = new PodSyncHarness();
  const begun = holdHook(harness);
  const lost = harness.startSync(pod, { status: null });
  await settle();
  lost.channel.close();
  await lost.result;
  harness.runtime.exec = async () => ({ exitCode: 0, output: '' });
  harness.runtime.calls.length = 0;
  const { channel, result } = await harness.syncToEnd(pod, { withoutContainers: true });
  assert.deepEqual([begun(), result.outcome], [1, 'synced']);
  assert.equal(harness.runtime.calls.filter((call) => call.startsWith('execSync app')).length, 1, harness.runtime.calls.join());
  assert.deepEqual(unfinished(harness, lost.channel, channel), { recorded: [], notified: [] });
});

test('the hook of a pod that ends leaves no record', async () => {
  using harness = new PodSyncHarness();
  holdHook(harness);
  const { channel, result } = harness.startSync(pod);
  await settle();
  channel.post({ type: 'stop', podEnds: true });
  await result;
  assert.deepEqual(unfinished(harness, channel), { recorded: [], notified: [] });
});
