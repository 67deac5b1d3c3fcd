import assert from 'node:assert/strict';
import { test } from 'node:test';
import { settle } from '../../support/fake-clock.ts';
import { aContainer, aPod, aSidecar } from '../../support/pod-sync-samples.ts';
import { PodSyncHarness } from '../../support/pod-sync-harness.ts';
import type { Container, Pod } from '../../../src/shared/kubernetes/api.ts';

/** A harness on which the pod runs, calls forgotten. */
async function running(pod: Pod): Promise<PodSyncHarness> {
  const harness = new PodSyncHarness();
  for (let i = 0; i < 4; i += 1) await harness.synced(pod);
  harness.runtime.calls.length = 0;
  return harness;
}

const stops = (harness: PodSyncHarness) => harness.runtime.calls.filter((call) => call.startsWith('stopContainer'));

test('a pod ends within its grace period: containers first, then the sandbox', async () => {
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

test('the grace period that main states goes before that of the pod, but is never under two seconds', async () => {
  using harness = await running(aPod());
  await harness.terminate(aPod(), 7).result;
  assert.deepEqual(stops(harness), ['stopContainer app 7']);
  using other = await running(aPod());
  await other.terminate(aPod(), 0).result;
  assert.deepEqual(stops(other), ['stopContainer app 2']);
});

test('a grace period beyond all measure is 68 years, so that it fits what runtimes count in', async () => {
  using harness = await running(aPod());
  await harness.terminate(aPod({ terminationGracePeriodSeconds: Number.MAX_SAFE_INTEGER })).result;
  assert.deepEqual(stops(harness), ['stopContainer app 2147483647']);
});

test('sidecars end after the containers, the last one first, and all within one grace period', async () => {
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

test('sidecars do not wait longer than the grace period', async () => {
  const pod = aPod({ initContainers: [aSidecar('s')], terminationGracePeriodSeconds: 10 });
  using harness = await running(pod);
  harness.runtime.failNext('stopContainer', 'shim is gone');
  const { result } = harness.terminate(pod);
  await harness.clock.advance(10_000);
  const settled = await result;
  assert.deepEqual(stops(harness), ['stopContainer app 10', 'stopContainer s 2']);
  assert.ok(settled.outcome === 'failed' && settled.failure.reason === 'FailedKillPod');
  assert.match(settled.failure.message, /^error killing terminating pod: failed to "KillContainer" for "app" with KillContainerError/);
  // what did not want to end ends with its sandbox
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

test('a preStop hook that does not end is left behind when the grace period is over', async () => {
  const pod = withPreStop({ exec: { command: ['sleep', 'inf'] } });
  using harness = await running(pod);
  let told = false;
  harness.runtime.exec = (_id, _command, signal) =>
    new Promise((_, reject) => {
      signal?.addEventListener('abort', () => {
        told = true;
        reject(new Error('cancelled'));
      });
    });
  const { channel, result } = harness.terminate(pod);
  await harness.clock.advance(30_000);
  await result;
  assert.deepEqual(stops(harness), ['stopContainer app 2']);
  assert.ok(told);
  assert.deepEqual(channel.events, ['Killing spec.containers{app}: Stopping container app']);
});

test('a preStop hook that fails is an event without its output, and the container is stopped', async () => {
  const pod = withPreStop({ exec: { command: ['bye'] } });
  using harness = await running(pod);
  harness.runtime.exec = () => Promise.resolve({ exitCode: 3, output: 'secret' });
  const { channel, result } = harness.terminate(pod);
  assert.equal((await result).outcome, 'synced');
  assert.equal(channel.events[1], 'FailedPreStopHook spec.containers{app}: PreStopHook failed');
  assert.deepEqual(stops(harness), ['stopContainer app 30']);
});

test('a preStop hook over HTTP goes to the pod, at the port of that name', async () => {
  const lifecycle = { preStop: { httpGet: { port: 'admin', path: '/bye?now=1' } } };
  const pod = aPod({ containers: [aContainer('app', { lifecycle, ports: [{ name: 'admin', containerPort: 8080 }] })] });
  using harness = await running(pod);
  await harness.terminate(pod).result;
  assert.deepEqual(harness.hookURLs, ['http://10.0.0.1:8080/bye?now=1']);
});

test('a pod that is ended by force runs no hook', async () => {
  const pod = withPreStop({ exec: { command: ['bye'] } });
  using harness = await running(pod);
  await harness.terminate(pod, 0).result;
  assert.deepEqual(harness.runtime.calls[0], 'stopContainer app 2');
});

test('a shorter grace period that comes later is told to the runtime by a second stop', async () => {
  using harness = await running(aPod());
  harness.runtime.stopDelaysMs.set('app', Infinity);
  const { channel, result } = harness.terminate(aPod());
  await harness.clock.advance(5000);
  channel.post({ type: 'shrinkGracePeriod', gracePeriodSeconds: 3 });
  await harness.clock.advance(3000);
  assert.equal((await result).outcome, 'synced');
  assert.deepEqual(stops(harness), ['stopContainer app 30', 'stopContainer app 3']);
});

test('a grace period never grows', async () => {
  using harness = await running(aPod());
  harness.runtime.stopDelaysMs.set('app', Infinity);
  const { channel, result } = harness.terminate(aPod(), 5);
  await settle();
  channel.post({ type: 'shrinkGracePeriod', gracePeriodSeconds: 60 });
  await harness.clock.advance(5000);
  await result;
  assert.deepEqual(stops(harness), ['stopContainer app 5']);
});

test('a shorter grace period cuts a preStop hook short', async () => {
  const pod = withPreStop({ sleep: { seconds: 25 } });
  using harness = await running(pod);
  const { channel, result } = harness.terminate(pod);
  await harness.clock.advance(1000);
  channel.post({ type: 'shrinkGracePeriod', gracePeriodSeconds: 4 });
  await harness.clock.advance(4000);
  await result;
  assert.deepEqual(stops(harness), ['stopContainer app 2']);
});

test('a stop gives up waiting, and nothing of the pod is half done: the next task goes on', async () => {
  using harness = await running(aPod());
  harness.runtime.stopDelaysMs.set('app', 20_000);
  const { channel, result } = harness.terminate(aPod());
  await harness.clock.advance(1000);
  channel.post({ type: 'stop' });
  assert.equal((await result).outcome, 'stopped');
  assert.ok(!harness.runtime.calls.includes('stopPodSandbox sandbox-1'));
});

test('a pod that only the runtime knows ends by its annotations, hook and grace period included', async () => {
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

test('annotations that cannot be read do not keep a pod from being ended', async () => {
  using harness = await running(aPod());
  harness.runtime.change('app', { orphan: { preStopHandler: '{', ports: '7' } });
  const status = harness.runtime.status('uid-1')!;
  const { result } = harness.run({ kind: 'terminating', pod: null, status, gracePeriodSeconds: null }, 'uid-1');
  assert.equal((await result).outcome, 'synced');
  assert.deepEqual(stops(harness), ['stopContainer app 2']);
});

test('volumes go while the sandbox is stopped, and not before every container has ended, which is told then', async () => {
  using harness = await running(aPod());
  harness.effects.length = 0;
  harness.runtime.stopDelaysMs.set('app', 5000);
  const stopping = Promise.withResolvers<void>();
  harness.runtime.stopPodSandbox = () => stopping.promise;
  const { channel, result } = harness.terminate(aPod());
  const isTold = () => channel.requests.some(({ type }) => type === 'containersEnded');
  await harness.clock.advance(4999);
  assert.deepEqual([harness.effects, isTold()], [[], false]);
  await harness.clock.advance(1);
  assert.deepEqual([harness.effects, isTold()], [['unmount volumes'], true]);
  stopping.resolve();
  assert.equal((await result).outcome, 'synced');
});

test('volumes stay where a container could not be ended, and the pod has not ended', async () => {
  using harness = await running(aPod());
  harness.effects.length = 0;
  harness.runtime.failNext('stopContainer', 'shim is gone');
  const { channel, result } = harness.terminate(aPod());
  assert.equal((await result).outcome, 'failed');
  assert.deepEqual(harness.effects, []);
  assert.ok(!channel.requests.some(({ type }) => type === 'containersEnded'));
});

test('a volume that cannot be unmounted, or hangs, does not keep a pod from its end', async () => {
  using harness = await running(aPod());
  harness.failures.set('unmount volumes', new Error('/mnt is busy'));
  assert.equal((await harness.terminate(aPod()).result).outcome, 'synced');
  using other = await running(aPod());
  other.unmountHangs = true;
  assert.equal((await other.terminate(aPod()).result).outcome, 'synced');
});

test('a terminated pod loses its volumes, then its cgroup', async () => {
  using harness = await running(aPod());
  harness.effects.length = 0;
  const { result } = harness.run({ kind: 'terminated', pod: aPod(), status: null }, 'uid-1');
  assert.equal((await result).outcome, 'synced');
  assert.deepEqual(harness.effects, ['unmount volumes', 'remove cgroup']);
});

test('a forgotten pod loses its folder as well, but not while a volume is mounted', async () => {
  using harness = new PodSyncHarness();
  await harness.run({ kind: 'cleanUp' }, 'uid-1').result;
  assert.deepEqual(harness.effects, ['unmount volumes', 'remove cgroup', 'remove folder']);
  harness.effects.length = 0;
  harness.failures.set('unmount volumes', new Error('/mnt is busy'));
  const result = await harness.run({ kind: 'cleanUp' }, 'uid-1').result;
  assert.ok(result.outcome === 'failed' && result.failure.message === '/mnt is busy');
  assert.deepEqual(harness.effects, []);
});
