import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '../../support/fake-clock.ts';
import { aContainer, aPod, aSidecar } from '../../support/pods/pod-sync-samples.ts';
import { PodSyncHarness } from '../../support/pods/pod-sync-harness.ts';
import type { Container, Pod } from '../../../src/shared/kubernetes/api.ts';

/** Returns a harness in which the pod runs, without recorded calls. */
async function running(pod: Pod): Promise<PodSyncHarness> {
  const harness = new PodSyncHarness();
  for (let i = 0; i < 4; i += 1) await harness.syncToEnd(pod);
  harness.runtime.calls.length = 0;
  return harness;
}

const stops = (harness: PodSyncHarness) => harness.runtime.calls.filter((call) => call.startsWith('stopContainer'));

test('a pod is stopped within its grace period: first the containers, then the sandbox', async () => {
  using harness = await running(aPod({ containers: [aContainer('a'), aContainer('b')] }));
  const pod = aPod({ containers: [aContainer('a'), aContainer('b')] });
  const { channel, result } = harness.terminate(pod);
  assert.equal((await result).outcome, 'synced');
  assert.deepEqual(stops(harness).toSorted(), ['stopContainer a 30', 'stopContainer b 30']);
  assert.equal(harness.runtime.calls.at(-1), 'stopPodSandbox sandbox-1');
  assert.deepEqual(channel.events.toSorted(), [
    'Killing spec.containers{a}: Stopping container a',
    'Killing spec.containers{b}: Stopping container b',
  ]);
});

test("the task's grace period overrides the pod's, and is at least two seconds", async () => {
  using harness = await running(aPod());
  await harness.terminate(aPod(), 7).result;
  assert.deepEqual(stops(harness), ['stopContainer app 7']);
  using other = await running(aPod());
  await other.terminate(aPod(), 0).result;
  assert.deepEqual(stops(other), ['stopContainer app 2']);
});

test('a huge grace period is limited to 68 years, so that it does not overflow in the runtime', async () => {
  using harness = await running(aPod());
  await harness.terminate(aPod({ terminationGracePeriodSeconds: Number.MAX_SAFE_INTEGER })).result;
  assert.deepEqual(stops(harness), ['stopContainer app 2147483647']);
});

test('sidecars stop after the containers, in reverse order and within one grace period', async () => {
  const pod = aPod({ initContainers: [aSidecar('s1'), aSidecar('s2')] });
  using harness = await running(pod);
  harness.runtime.stopDelaysMs.set('app', 4500);
  harness.runtime.stopDelaysMs.set('s2', 3000);
  const { result } = harness.terminate(pod);
  await harness.clock.advance(4000);
  assert.deepEqual(stops(harness), ['stopContainer app 30']);
  await harness.clock.advance(500);
  assert.deepEqual(stops(harness), ['stopContainer app 30', 'stopContainer s2 26']);
  await harness.clock.advance(3000);
  assert.equal((await result).outcome, 'synced');
  assert.deepEqual(stops(harness), ['stopContainer app 30', 'stopContainer s2 26', 'stopContainer s1 23']);
});

test('a sidecar does not wait for the containers longer than the grace period', async () => {
  const pod = aPod({ initContainers: [aSidecar('s')], terminationGracePeriodSeconds: 10 });
  using harness = await running(pod);
  harness.runtime.failNext('stopContainer', 'shim is gone');
  const { result } = harness.terminate(pod);
  await harness.clock.advance(10_000);
  const settled = await result;
  assert.deepEqual(stops(harness), ['stopContainer app 10', 'stopContainer s 2']);
  assert.ok(settled.outcome === 'failed' && settled.failure.reason === 'FailedKillPod');
  assert.match(settled.failure.message, /^error killing terminating pod: failed to "KillContainer" for "app" with KillContainerError/);
  // Stopping the sandbox ends a container that could not be stopped.
  assert.equal(harness.runtime.calls.at(-1), 'stopPodSandbox sandbox-1');
});

const withPreStop = (preStop: NonNullable<Container['lifecycle']>['preStop']) =>
  aPod({ containers: [aContainer('app', { lifecycle: { preStop: preStop! } })] });

test('the time of a preStop hook is taken from the grace period', async () => {
  const pod = withPreStop({ sleep: { seconds: 10 } });
  using harness = await running(pod);
  const { result } = harness.terminate(pod);
  await harness.clock.advance(9999);
  assert.deepEqual(stops(harness), []);
  await harness.clock.advance(1);
  await result;
  assert.deepEqual(stops(harness), ['stopContainer app 20']);
});

test('a preStop hook that does not end runs on until its container has ended', async () => {
  const pod = withPreStop({ exec: { command: ['sleep', 'inf'] } });
  using harness = await running(pod);
  let aborted = false;
  harness.runtime.exec = (_id, _command, signal) =>
    new Promise((_, reject) => {
      signal?.addEventListener('abort', () => {
        aborted = true;
        reject(new Error('cancelled'));
      });
    });
  harness.runtime.stopDelaysMs.set('app', 2000);
  const { channel, result } = harness.terminate(pod);
  await harness.clock.advance(30_000);
  assert.deepEqual(stops(harness), ['stopContainer app 2']);
  await harness.clock.advance(1999);
  assert.equal(aborted, false);
  await harness.clock.advance(1);
  await result;
  assert.ok(aborted);
  assert.deepEqual(channel.events, ['Killing spec.containers{app}: Stopping container app']);
});

test('a failed preStop hook is an event without its output, and the container is stopped', async () => {
  const pod = withPreStop({ exec: { command: ['bye'] } });
  using harness = await running(pod);
  harness.runtime.exec = () => Promise.resolve({ exitCode: 3, output: 'secret' });
  const { channel, result } = harness.terminate(pod);
  assert.equal((await result).outcome, 'synced');
  assert.equal(channel.events[1], 'FailedPreStopHook spec.containers{app}: PreStopHook failed');
  assert.deepEqual(stops(harness), ['stopContainer app 30']);
});

test('an HTTP preStop hook goes to the pod IP and the named port', async () => {
  const lifecycle = { preStop: { httpGet: { port: 'admin', path: '/bye?now=1' } } };
  const pod = aPod({ containers: [aContainer('app', { lifecycle, ports: [{ name: 'admin', containerPort: 8080 }] })] });
  using harness = await running(pod);
  await harness.terminate(pod).result;
  assert.deepEqual(harness.hookURLs, ['http://10.0.0.1:8080/bye?now=1']);
});

test('a force-deleted pod runs no preStop hook', async () => {
  const pod = withPreStop({ exec: { command: ['bye'] } });
  using harness = await running(pod);
  await harness.terminate(pod, 0).result;
  assert.deepEqual(harness.runtime.calls[0], 'stopContainer app 2');
});

test('a shortened grace period is passed to the runtime in a second stop', async () => {
  using harness = await running(aPod());
  harness.runtime.stopDelaysMs.set('app', Infinity);
  const { channel, result } = harness.terminate(aPod());
  await harness.clock.advance(5000);
  channel.post({ type: 'shrinkGracePeriod', gracePeriodSeconds: 3 });
  await harness.clock.advance(3000);
  assert.equal((await result).outcome, 'synced');
  assert.deepEqual(stops(harness), ['stopContainer app 30', 'stopContainer app 3']);
});

test('a grace period never increases', async () => {
  using harness = await running(aPod());
  harness.runtime.stopDelaysMs.set('app', Infinity);
  const { channel, result } = harness.terminate(aPod(), 5);
  await settle();
  channel.post({ type: 'shrinkGracePeriod', gracePeriodSeconds: 60 });
  await harness.clock.advance(5000);
  await result;
  assert.deepEqual(stops(harness), ['stopContainer app 5']);
});

test('a shortened grace period ends the wait for a preStop hook', async () => {
  const pod = withPreStop({ sleep: { seconds: 25 } });
  using harness = await running(pod);
  const { channel, result } = harness.terminate(pod);
  await harness.clock.advance(1000);
  channel.post({ type: 'shrinkGracePeriod', gracePeriodSeconds: 4 });
  await harness.clock.advance(4000);
  await result;
  assert.deepEqual(stops(harness), ['stopContainer app 2']);
});

test('a stopped task does not wait for its containers, and the next task continues', async () => {
  using harness = await running(aPod());
  harness.runtime.stopDelaysMs.set('app', 20_000);
  const { channel, result } = harness.terminate(aPod());
  await harness.clock.advance(1000);
  channel.post({ type: 'stop' });
  assert.equal((await result).outcome, 'stopped');
  assert.ok(!harness.runtime.calls.includes('stopPodSandbox sandbox-1'));
});

test('a pod without a spec is stopped with the hook and the grace period of its annotations', async () => {
  const pod = aPod();
  using harness = await running(pod);
  harness.runtime.change('app', {
    orphan: {
      podTerminationGracePeriodSeconds: 12,
      preStopHandler: '{"httpGet":{"port":"admin"}}',
      ports: '[{"name":"admin","containerPort":9000}]',
    },
  });
  const status = harness.runtime.status('uid-1')!;
  const { channel, result } = harness.run({ kind: 'terminating', pod: null, status, gracePeriodSeconds: null }, 'uid-1');
  assert.equal((await result).outcome, 'synced');
  assert.deepEqual(harness.hookURLs, ['http://10.0.0.1:9000/']);
  assert.deepEqual(stops(harness), ['stopContainer app 12']);
  assert.deepEqual(channel.events, ['Killing spec.containers{app}: Stopping container app']);
});

test('a pod that the API server no longer has gets 30 s at most, and one from a manifest its whole grace period', async () => {
  for (const [isStatic, seconds] of [
    [undefined, 30],
    [true, 3600],
  ] as const) {
    using harness = await running(aPod());
    harness.runtime.change('app', { orphan: { podTerminationGracePeriodSeconds: 3600 } });
    const known = harness.runtime.status('uid-1')!;
    const status = { ...known, sandboxes: known.sandboxes.map((sandbox) => ({ ...sandbox, ...(isStatic && { isStatic }) })) };
    const { result } = harness.run({ kind: 'terminating', pod: null, status, gracePeriodSeconds: null }, 'uid-1');
    assert.equal((await result).outcome, 'synced');
    assert.deepEqual(stops(harness), [`stopContainer app ${seconds}`]);
  }
});

test('a pod with invalid annotations is stopped with the minimum grace period', async () => {
  using harness = await running(aPod());
  harness.runtime.change('app', { orphan: { preStopHandler: '{', ports: '7' } });
  const status = harness.runtime.status('uid-1')!;
  const { result } = harness.run({ kind: 'terminating', pod: null, status, gracePeriodSeconds: null }, 'uid-1');
  assert.equal((await result).outcome, 'synced');
  assert.deepEqual(stops(harness), ['stopContainer app 2']);
});

test('volumes are unmounted while the sandbox stops, after main was notified that all containers have ended', async () => {
  using harness = await running(aPod());
  harness.effects.length = 0;
  harness.runtime.stopDelaysMs.set('app', 5000);
  const stopping = Promise.withResolvers<void>();
  harness.runtime.stopPodSandbox = () => stopping.promise;
  const { channel, result } = harness.terminate(aPod());
  const isNotified = () => channel.requests.some(({ type }) => type === 'containersEnded');
  await harness.clock.advance(4999);
  assert.deepEqual([harness.effects, isNotified()], [[], false]);
  await harness.clock.advance(1);
  assert.deepEqual([harness.effects, isNotified()], [['unmount volumes'], true]);
  stopping.resolve();
  assert.equal((await result).outcome, 'synced');
});

test('volumes stay mounted when a container could not be stopped', async () => {
  using harness = await running(aPod());
  harness.effects.length = 0;
  harness.runtime.failNext('stopContainer', 'shim is gone');
  const { channel, result } = harness.terminate(aPod());
  assert.equal((await result).outcome, 'failed');
  assert.deepEqual(harness.effects, []);
  assert.ok(!channel.requests.some(({ type }) => type === 'containersEnded'));
});

for (const { gracePeriodSeconds, want } of [
  { gracePeriodSeconds: 0, want: ['kill processes'] },
  { gracePeriodSeconds: 1, want: ['kill processes'] },
  { gracePeriodSeconds: 3, want: [] },
]) {
  test(`a pod with ${gracePeriodSeconds} s that the runtime cannot stop: ${want.join() || 'its processes get the time of later attempts'}`, async () => {
    using harness = await running(aPod());
    harness.effects.length = 0;
    harness.runtime.failNext('stopContainer', 'fork: resource temporarily unavailable');
    const { result } = harness.terminate(aPod(), gracePeriodSeconds);
    await harness.clock.advance(1999);
    // A container always gets two seconds.
    assert.deepEqual(harness.effects, []);
    await harness.clock.advance(1);
    assert.equal((await result).outcome, 'failed');
    assert.deepEqual(harness.effects, want);
  });
}

for (const { gracePeriodSeconds, want } of [
  { gracePeriodSeconds: 1, want: ['kill processes'] },
  { gracePeriodSeconds: 3, want: [] },
]) {
  test(`a pod with ${gracePeriodSeconds} s whose runtime does not answer: ${want.join() || 'its processes get the time of later attempts'}`, async () => {
    using harness = await running(aPod());
    harness.effects.length = 0;
    const stopping = Promise.withResolvers<void>();
    harness.runtime.stopContainer = () => stopping.promise;
    const { result } = harness.terminate(aPod(), gracePeriodSeconds);
    // The runtime itself kills after two seconds.
    await harness.clock.advance(4999);
    assert.deepEqual(harness.effects, []);
    await harness.clock.advance(1);
    assert.deepEqual(harness.effects, want);
    stopping.resolve();
    assert.equal((await result).outcome, 'synced');
    harness.effects.length = 0;
    await harness.clock.advance(60_000);
    assert.deepEqual(harness.effects, []);
  });
}

test('a pod whose grace period shrinks to nothing is killed again until the runtime answers', async () => {
  using harness = await running(aPod());
  harness.effects.length = 0;
  const stopping = Promise.withResolvers<void>();
  harness.runtime.stopContainer = () => stopping.promise;
  const { channel, result } = harness.terminate(aPod());
  await harness.clock.advance(5000);
  channel.post({ type: 'shrinkGracePeriod', gracePeriodSeconds: 1 });
  await harness.clock.advance(8000);
  assert.deepEqual(harness.effects, ['kill processes', 'kill processes']);
  stopping.resolve();
  assert.equal((await result).outcome, 'synced');
});

test('a failed or hanging unmount does not block the termination of a pod', async () => {
  using harness = await running(aPod());
  harness.failures.set('unmount volumes', new Error('/mnt is busy'));
  assert.equal((await harness.terminate(aPod()).result).outcome, 'synced');
  using other = await running(aPod());
  other.unmountHangs = true;
  assert.equal((await other.terminate(aPod()).result).outcome, 'synced');
});

test("a terminated pod's volumes are unmounted, then its cgroup is removed", async () => {
  using harness = await running(aPod());
  harness.effects.length = 0;
  const { result } = harness.run({ kind: 'terminated', pod: aPod(), status: null }, 'uid-1');
  assert.equal((await result).outcome, 'synced');
  assert.deepEqual(harness.effects, ['unmount volumes', 'remove cgroup']);
});

test("a clean-up also removes the pod's folder, unless a volume is still mounted", async () => {
  using harness = new PodSyncHarness();
  await harness.run({ kind: 'cleanUp' }, 'uid-1').result;
  assert.deepEqual(harness.effects, ['unmount volumes', 'remove cgroup', 'remove folder']);
  harness.effects.length = 0;
  harness.failures.set('unmount volumes', new Error('/mnt is busy'));
  const result = await harness.run({ kind: 'cleanUp' }, 'uid-1').result;
  assert.ok(result.outcome === 'failed' && result.failure.message === '/mnt is busy');
  assert.deepEqual(harness.effects, []);
});
