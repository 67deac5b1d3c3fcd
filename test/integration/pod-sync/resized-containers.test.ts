/** Syncs of pods to which other resources were allocated than are in force. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ActuatedResources } from '../../../src/shared/contracts/pod-sync/allocation.ts';
import { grpcCode } from '../../../src/shared/cri/cri-error.ts';
import type { Container, PodSpec, ResourceRequirements } from '../../../src/shared/kubernetes/api.ts';
import type { FakeTaskChannel } from '../../support/pods/fake-task-channel.ts';
import { aContainer, aPod } from '../../support/pods/pod-sync-samples.ts';
import { PodSyncHarness } from '../../support/pods/pod-sync-harness.ts';

const both = (cpu: string, memory: string) => ({ requests: { cpu, memory }, limits: { cpu, memory } });
const podOf = (resources: ResourceRequirements, more: Partial<Container> = {}, spec: Partial<PodSpec> = {}) =>
  aPod({ containers: [aContainer('app', { resources, ...more })], ...spec });
const inForce = (resources: ResourceRequirements): ActuatedResources => ({ containers: new Map([['app', resources]]) });
/** What the task has said to be in force, in order. */
const recorded = ({ requests }: FakeTaskChannel) =>
  requests.flatMap((request) =>
    request.type === 'actuated' || request.type === 'recordActuated'
      ? [[request.type, Object.fromEntries(request.actuated.containers)]]
      : [],
  );
const value = (current: number, desired: number) => ({ current, desired });
const same = { memory: value(1, 1), quota: value(1, 1), shares: value(1, 1), unified: [] };
const callsOf = (harness: PodSyncHarness, from: number) => harness.runtime.calls.slice(from).filter((call) => !call.startsWith('find'));

/** A pod that runs with 100m of CPU and 64Mi of memory. */
async function aRunningPod(more: Partial<Container> = {}) {
  const harness = new PodSyncHarness();
  await harness.syncToEnd(podOf(both('100m', '64Mi'), more));
  harness.actuated = inForce(both('100m', '64Mi'));
  return { harness, from: harness.runtime.calls.length };
}

test('a running container gets memory, then CPU; the pod’s cgroup grows before, and main learns of each step', async () => {
  const { harness, from } = await aRunningPod();
  using _ = harness;
  harness.cgroupValues = { ...same, memory: value(64, 128), quota: value(10, 20), shares: value(102, 204) };
  harness.effects.length = 0;
  const { channel, result } = await harness.syncToEnd(podOf(both('200m', '128Mi')));
  assert.deepEqual([result.outcome, result.resizeError, result.changedRuntime], ['synced', undefined, true]);
  assert.deepEqual(callsOf(harness, from), [
    'updatePodSandboxResources',
    'updateContainerResources app',
    'updatePodSandboxResources',
    'updatePodSandboxResources',
    'updateContainerResources app',
  ]);
  assert.deepEqual(
    harness.effects.filter((effect) => effect.startsWith('set')),
    ['set memory of the cgroup', 'set quota of the cgroup', 'set shares of the cgroup'],
  );
  const values = harness.runtime.updates.map(({ cpuShares, cpuQuota, memoryLimitInBytes }) => [cpuShares, cpuQuota, memoryLimitInBytes]);
  const mebibyte = 1024n * 1024n;
  assert.deepEqual(values, [
    [102n, 10_000n, 128n * mebibyte],
    [204n, 20_000n, 128n * mebibyte],
  ]);
  const [first] = harness.runtime.sandboxUpdates;
  assert.deepEqual([first?.cpuShares, first?.memoryLimitInBytes], [102n, 128n * mebibyte]);
  assert.deepEqual(recorded(channel), [
    ['actuated', { app: { requests: { cpu: '100m', memory: '128Mi' }, limits: { cpu: '100m', memory: '128Mi' } } }],
    ['actuated', { app: both('200m', '128Mi') }],
  ]);
});

test('with MemoryQoS a memory request alone changes what the kernel protects, of the container and of the pod', async () => {
  using harness = new PodSyncHarness({ memoryReservationPolicy: 'TieredReservation', memoryThrottlingFactor: 0.5 });
  const ofMemory = (request: string) => ({ requests: { memory: request }, limits: { memory: '128Mi' } });
  await harness.syncToEnd(podOf(ofMemory('64Mi')));
  harness.actuated = inForce(ofMemory('64Mi'));
  harness.cgroupValues = { ...same, unified: [{ file: 'memory.low', text: '128', ...value(64, 128) }] };
  harness.effects.length = 0;
  await harness.syncToEnd(podOf(ofMemory('128Mi')));
  assert.deepEqual(harness.runtime.updates.at(-1)?.unified, {
    'memory.low': String(128 * 1024 * 1024),
    'memory.high': 'max',
    'memory.oom.group': '1',
  });
  assert.deepEqual(harness.runtime.sandboxUpdates.at(-1)?.unified['memory.low'], '128');
  assert.deepEqual(
    harness.effects.filter((effect) => effect.startsWith('set')),
    ['set memory of the cgroup'],
  );
});

test('the first error ends a resize; what was done before is in force, and the next sync goes on', async () => {
  const { harness, from } = await aRunningPod();
  using _ = harness;
  harness.runtime.failNext('updateContainerResources', 'busy');
  const { channel, result } = await harness.syncToEnd(podOf(both('200m', '128Mi')));
  assert.deepEqual([result.outcome, result.resizeError], ['synced', 'rpc error: code = Unknown desc = busy']);
  assert.deepEqual([callsOf(harness, from), recorded(channel)], [['updateContainerResources app'], []]);
  const again = await harness.syncToEnd(podOf(both('200m', '128Mi')));
  assert.equal(again.result.resizeError, undefined);
});

test('a resize goes on when the pod’s cgroup could not shrink after its containers', async () => {
  const { harness, from } = await aRunningPod();
  using _ = harness;
  harness.cgroupValues = { ...same, memory: value(64, 32) };
  harness.failures.set('set memory of the cgroup', new Error('EIO'));
  const { channel, result } = await harness.syncToEnd(podOf(both('100m', '32Mi')));
  assert.deepEqual([result.resizeError, recorded(channel)], ['EIO, the pod uses 0 bytes', []]);
  harness.failures.clear();
  const again = await harness.syncToEnd(podOf(both('100m', '32Mi')));
  assert.deepEqual(recorded(again.channel), [['actuated', { app: both('100m', '32Mi') }]]);
  assert.ok(harness.effects.includes('set memory of the cgroup'));
  assert.deepEqual(callsOf(harness, from).filter((call) => call.startsWith('updateContainer')).length, 2);
});

test('a memory limit below the usage changes nothing', async () => {
  const { harness, from } = await aRunningPod();
  using _ = harness;
  harness.memoryUsage = 48 * 1024 * 1024;
  const { result } = await harness.syncToEnd(podOf(both('200m', '32Mi')));
  assert.match(
    result.resizeError ?? '',
    /^cannot decrease memory limits: attempting to set container "app" memory limit \(33554432\) below/,
  );
  assert.deepEqual(callsOf(harness, from), []);
});

test('what the runtime has accepted is taken back when the kernel refuses', async () => {
  const { harness, from } = await aRunningPod();
  using _ = harness;
  harness.cgroupValues = { ...same, memory: value(64, 128) };
  harness.memoryUsage = 70;
  harness.failures.set('set memory of the cgroup', new Error('cannot write 60 to memory.limit_in_bytes', { cause: new Error('EBUSY') }));
  const { result } = await harness.syncToEnd(podOf(both('100m', '128Mi')));
  assert.equal(result.resizeError, 'cannot write 60 to memory.limit_in_bytes: EBUSY, the pod uses 70 bytes');
  assert.deepEqual(callsOf(harness, from), ['updatePodSandboxResources', 'updatePodSandboxResources']);
  const [after, before] = harness.runtime.sandboxUpdates.map(({ memoryLimitInBytes }) => Number(memoryLimitInBytes) / 1024 / 1024);
  assert.deepEqual([after, before], [128, 64]);
});

test('a runtime that refuses the pod’s resources ends the resize before the cgroup changes', async () => {
  const { harness } = await aRunningPod();
  using _ = harness;
  harness.cgroupValues = { ...same, memory: value(64, 128) };
  harness.runtime.failNext('updatePodSandboxResources', 'no', grpcCode.UNKNOWN);
  const { result } = await harness.syncToEnd(podOf(both('100m', '128Mi')));
  assert.equal(
    result.resizeError,
    'failed to notify runtime for UpdatePodSandboxResources (resource=memory); resize rejected: rpc error: code = Unknown desc = no',
  );
  assert.ok(!harness.effects.includes('set memory of the cgroup'));
});

test('a container whose policy asks for it restarts, and its record is durable before', async () => {
  const resizePolicy = [{ resourceName: 'memory', restartPolicy: 'RestartContainer' }];
  const { harness, from } = await aRunningPod({ resizePolicy });
  using _ = harness;
  harness.cgroupValues = { ...same, memory: value(64, 128) };
  const { channel, result } = await harness.syncToEnd(podOf(both('100m', '128Mi'), { resizePolicy }));
  assert.equal(result.outcome, 'synced');
  assert.deepEqual(callsOf(harness, from), [
    'stopContainer app 30',
    'updatePodSandboxResources',
    'createContainer app 1',
    'startContainer app',
  ]);
  assert.deepEqual(recorded(channel), [['recordActuated', { app: both('100m', '128Mi') }]]);
  assert.ok(channel.events.some((event) => event.includes('Container app resize requires restart')));
});

test('the cgroup of a pod is resized before a container starts that has ended', async () => {
  const { harness, from } = await aRunningPod();
  using _ = harness;
  harness.runtime.exit('app', 137);
  harness.clock.advance(60_000);
  harness.cgroupValues = { ...same, memory: value(64, 256) };
  harness.effects.length = 0;
  const { channel } = await harness.syncToEnd(podOf(both('100m', '256Mi')));
  assert.deepEqual(callsOf(harness, from), ['updatePodSandboxResources', 'createContainer app 1', 'startContainer app']);
  assert.ok(harness.effects.includes('set memory of the cgroup'));
  assert.deepEqual(recorded(channel), [['recordActuated', { app: both('100m', '256Mi') }]]);
});

test('a pod whose allocated resources are in force is not resized', async () => {
  const { harness, from } = await aRunningPod();
  using _ = harness;
  harness.actuated = null;
  const { result } = await harness.syncToEnd(podOf(both('200m', '128Mi')));
  assert.deepEqual([callsOf(harness, from), result.changedRuntime], [[], false]);
});

test('a resize waits for no volume that can’t be brought up to date', async () => {
  const { harness, from } = await aRunningPod();
  using _ = harness;
  harness.failures.set('mount volumes', new Error('secret "s" not found'));
  const { result } = await harness.syncToEnd(podOf(both('200m', '64Mi')));
  assert.deepEqual([result.outcome, result.resizeError, result.changedRuntime], ['failed', undefined, true]);
  assert.ok(callsOf(harness, from).includes('updateContainerResources app'));
});

test('a volume in memory gets its size after the memory, and main learns of it', async () => {
  const volumes = (sizeLimit: string) => ({ volumes: [{ name: 'm', emptyDir: { medium: 'Memory', sizeLimit } }] });
  using harness = new PodSyncHarness();
  await harness.syncToEnd(podOf(both('100m', '64Mi'), {}, volumes('1Mi')));
  harness.actuated = { ...inForce(both('100m', '64Mi')), emptyDirLimits: new Map([['m', '1Mi']]) };
  harness.cgroupValues = { ...same, memory: value(64, 128) };
  harness.effects.length = 0;
  const { channel, result } = await harness.syncToEnd(podOf(both('100m', '128Mi'), {}, volumes('2Mi')));
  assert.equal(result.resizeError, undefined);
  assert.deepEqual(
    harness.effects.filter((effect) => /^(set|resize)/.test(effect)),
    ['set memory of the cgroup', 'resize m to 2Mi'],
  );
  const [last] = channel.requests.flatMap((request) => (request.type === 'actuated' ? [request.actuated.emptyDirLimits] : [])).slice(-1);
  assert.deepEqual(last, new Map([['m', '2Mi']]));
  harness.failures.set('resize m to 512Ki', new Error('EINVAL: invalid argument'));
  const refused = await harness.syncToEnd(podOf(both('100m', '64Mi'), {}, volumes('512Ki')));
  assert.equal(refused.result.resizeError, 'failed to resize volume m: EINVAL: invalid argument');
});
