/** The pod is deleted while a sync runs a hook or stops a container: the hook runs once, and the grace period only shrinks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '../../support/fake-clock.ts';
import { aContainer, aPod } from '../../support/pods/pod-sync-samples.ts';
import { PodSyncHarness, type Run } from '../../support/pods/pod-sync-harness.ts';

interface Hook {
  readonly end: () => void;
  isAborted: boolean;
}

/** Lets the hooks of the harness run until the test ends them. */
function holdHooks({ runtime }: PodSyncHarness): Hook[] {
  const hooks: Hook[] = [];
  runtime.exec = (_id, _command, signal) =>
    new Promise((resolve, reject) => {
      const hook: Hook = { isAborted: false, end: () => resolve({ exitCode: 0, output: '' }) };
      hooks.push(hook);
      signal?.addEventListener('abort', () => {
        hook.isAborted = true;
        reject(new Error('cancelled'));
      });
    });
  return hooks;
}

const preStop = { exec: { command: ['bye'] } };
const podWith = (image: string) => aPod({ containers: [aContainer('app', { image, lifecycle: { preStop } })] });
const stops = (harness: PodSyncHarness) => harness.runtime.calls.filter((call) => call.startsWith('stopContainer'));

/** Starts a sync that replaces the container, whose preStop hook runs. */
async function replacing(harness: PodSyncHarness): Promise<Run & { readonly hooks: Hook[] }> {
  await harness.syncToEnd(podWith('one'));
  const hooks = holdHooks(harness);
  const run = harness.startSync(podWith('two'));
  await settle();
  assert.equal(hooks.length, 1);
  return { ...run, hooks };
}

test('a preStop hook runs to its end when its pod is deleted, and runs once', async () => {
  using harness = new PodSyncHarness();
  const { channel, result, hooks } = await replacing(harness);
  channel.post({ type: 'stop', podEnds: true });
  channel.post({ type: 'shrinkGracePeriod', gracePeriodSeconds: 20 });
  await harness.clock.advance(5000);
  assert.deepEqual([hooks[0]!.isAborted, stops(harness)], [false, []]);
  hooks[0]!.end();
  assert.equal((await result).outcome, 'stopped');
  assert.deepEqual(stops(harness), ['stopContainer app 15']);
  await harness.terminate(podWith('two')).result;
  assert.equal(hooks.length, 1);
});

test('the grace period of a deletion ends the wait for a hook that a sync has begun', async () => {
  using harness = new PodSyncHarness();
  const { channel, result } = await replacing(harness);
  await harness.clock.advance(1000);
  channel.post({ type: 'stop', podEnds: true });
  channel.post({ type: 'shrinkGracePeriod', gracePeriodSeconds: 3 });
  await harness.clock.advance(3000);
  assert.equal((await result).outcome, 'stopped');
  assert.deepEqual(stops(harness), ['stopContainer app 2']);
});

test('the end of the kubelet waits for no hook', async () => {
  using harness = new PodSyncHarness();
  const { channel, result, hooks } = await replacing(harness);
  channel.post({ type: 'stop' });
  assert.equal((await result).outcome, 'stopped');
  assert.deepEqual([hooks[0]!.isAborted, stops(harness)], [true, []]);
});

test('a postStart hook runs on when its pod is deleted, which does not wait for it', async () => {
  using harness = new PodSyncHarness();
  const hooks = holdHooks(harness);
  const { channel, result } = harness.startSync(aPod({ containers: [aContainer('app', { lifecycle: { postStart: preStop } })] }));
  await settle();
  channel.post({ type: 'stop', podEnds: true });
  assert.equal((await result).outcome, 'stopped');
  assert.deepEqual([hooks.length, hooks[0]!.isAborted], [1, false]);
});
