import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aContainer, aPod } from '../../support/pods/pod-sync-samples.ts';
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
