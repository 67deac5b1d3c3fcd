/**
 * When resizes that wait are tried again, and what they hold up, on a modelled node (test/support/pod-model/). Its time passes only while the test waits, so
 * that delays are numbers of calls and not of busy processors.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { ModelNode } from '../../support/pod-model/model-node.ts';
import { shapedPod, shapes } from '../../support/pod-histories/pod-shapes.ts';

/** A pod with one container. */
const shape = shapes.length;
const soonMs = 300;
/** Of UpdateContainerResources, UpdatePodSandboxResources and most others on this node. */
const callMs = 1;

async function aNode(...milliCPUs: readonly number[]) {
  const node = new ModelNode({ useEvents: true });
  await node.clock.advance(100);
  for (const [slot, milliCPU] of milliCPUs.entries()) put(node, `pod-${slot}`, milliCPU);
  await node.clock.advance(1000);
  return node;
}

function put(node: ModelNode, name: string, milliCPU: number, generation = 1, memory = '1Mi'): void {
  const before = node.api.pods.pods.get(name);
  const pod = before ?? (shapedPod(shape, { name, uid: name, policy: 'Always', graceSeconds: 1 }) as unknown as Pod);
  const amounts = { cpu: `${milliCPU}m`, memory };
  const containers = pod.spec.containers.map((container) => ({ ...container, resources: { requests: amounts, limits: amounts } }));
  node.api.put({ ...pod, metadata: { ...pod.metadata, generation }, spec: { ...pod.spec, containers } });
}

const statusOf = (node: ModelNode, name: string) => node.api.pods.pods.get(name)?.status;
const allocatedOf = (node: ModelNode, name: string) => statusOf(node, name)?.containerStatuses?.[0]?.allocatedResources?.['cpu'];
const isDeferred = (node: ModelNode, name: string) =>
  statusOf(node, name)?.conditions?.some(({ type, reason }) => type === 'PodResizePending' && reason === 'Deferred') ?? false;

test('a deferred resize is allocated when the node has become larger, and again when it becomes larger still', async () => {
  using node = await aNode(100, 100);
  put(node, 'pod-0', 2500, 2);
  put(node, 'pod-1', 3000, 2);
  await node.clock.advance(soonMs);
  assert.deepEqual([isDeferred(node, 'pod-0'), isDeferred(node, 'pod-1')], [true, true]);
  node.machine.change({ cpu: '4', memory: '2Gi' });
  await node.clock.advance(soonMs);
  assert.deepEqual([allocatedOf(node, 'pod-0'), isDeferred(node, 'pod-1')], ['2500m', true]);
  node.machine.change({ cpu: '8', memory: '2Gi' });
  await node.clock.advance(soonMs);
  assert.deepEqual([allocatedOf(node, 'pod-1'), isDeferred(node, 'pod-1')], ['3000m', false]);
});

test('a node that becomes smaller takes nothing back, and grants no more', async () => {
  using node = await aNode(900, 900);
  node.machine.change({ cpu: '1', memory: '2Gi' });
  put(node, 'pod-0', 950, 2);
  put(node, 'pod-1', 800, 2);
  await node.clock.advance(soonMs);
  assert.deepEqual([allocatedOf(node, 'pod-0'), isDeferred(node, 'pod-0'), allocatedOf(node, 'pod-1')], ['900m', true, '800m']);
  node.api.remove('pod-1');
  await node.clock.advance(3000);
  assert.deepEqual([allocatedOf(node, 'pod-0'), isDeferred(node, 'pod-0')], ['950m', false]);
});

test('deferred resizes hold up neither a smaller one nor the start of a pod', async () => {
  using node = await aNode(500, 500, 100);
  put(node, 'pod-0', 1800, 2);
  put(node, 'pod-1', 1700, 2);
  await node.clock.advance(soonMs);
  put(node, 'pod-2', 200, 2);
  put(node, 'started', 300);
  await node.clock.advance(soonMs);
  assert.deepEqual([isDeferred(node, 'pod-0'), isDeferred(node, 'pod-1')], [true, true]);
  assert.deepEqual([allocatedOf(node, 'pod-2'), statusOf(node, 'started')?.phase], ['200m', 'Running']);
});

test('a hundred resizes delay the start of another pod by one call of the runtime at most', async () => {
  using node = await aNode();
  node.machine.change({ cpu: '64', memory: '64Gi' });
  const calls: { readonly name: string; readonly atMs: number }[] = [];
  node.onCall((name, atMs) => calls.push({ name, atMs }));
  const names = Array.from({ length: 100 }, (_, index) => `resized-${index}`);
  for (const name of names) put(node, name, 100);
  await node.clock.advance(6000);
  assert.ok(names.every((name) => statusOf(node, name)?.phase === 'Running'));
  /** Returns the time from a pod's creation to the request of its sandbox. */
  const startOf = async (name: string) => {
    calls.length = 0;
    const createdMs = node.clock.monotonic();
    put(node, name, 100);
    await node.clock.advance(soonMs);
    return calls.find((call) => call.name === 'RunPodSandbox')!.atMs - createdMs;
  };
  const alone = await startOf('alone');
  const updates = () => calls.filter(({ name }) => name.startsWith('Update')).length;
  for (const name of names) put(node, name, 200, 2);
  calls.length = 0;
  while (updates() === 0) await node.clock.advance(1);
  const beside = await startOf('beside');
  assert.ok(updates() > 50, `only ${updates()} updates beside the start`);
  assert.ok(beside - alone <= callMs, `${beside} ms beside resizes, ${alone} ms alone`);
  await node.clock.advance(3000);
  assert.ok(names.every((name) => allocatedOf(node, name) === '200m' && !isDeferred(node, name)));
});

/** Returns when the runtime was asked to update a container, from a resize on. */
async function updatesOf(times: number, seconds: number) {
  const node = await aNode(100);
  const atMs: number[] = [];
  node.onCall((name, ms) => name === 'UpdateContainerResources' && atMs.push(ms));
  await node.apply({ type: 'fault', call: 'UpdateContainerResources', kind: 'fail', times });
  put(node, 'pod-0', 200, 2);
  await node.clock.advance(seconds * 1000);
  const [app] = statusOf(node, 'pod-0')?.containerStatuses ?? [];
  const progress = statusOf(node, 'pod-0')?.conditions?.find(({ type }) => type === 'PodResizeInProgress');
  node[Symbol.dispose]();
  return {
    pauses: atMs.slice(1).map((ms, index) => ms - atMs[index]!),
    cpu: app?.resources?.limits?.['cpu'],
    restarts: app?.restartCount,
    progress,
  };
}

test('an update that the runtime refuses three times is repeated with growing pauses, at most once a second', async () => {
  const { pauses, cpu, restarts, progress } = await updatesOf(3, 60);
  assert.deepEqual([pauses.length, cpu, restarts, progress], [3, '200m', 0, undefined]);
  assert.ok(
    pauses.every((pause, index) => pause >= Math.max(1000, pauses[index - 1] ?? 0)),
    pauses.join(' '),
  );
});

test('an update that the runtime never does is asked for at most ten times in the first minute, and the container goes on', async () => {
  const { pauses, cpu, restarts, progress } = await updatesOf(Infinity, 60);
  assert.deepEqual([cpu, restarts, progress?.reason], ['100m', 0, 'Error']);
  assert.ok(pauses.length < 10, pauses.join(' '));
});

test('a limit below the usage is in force within ten seconds of the moment at which less is used', async () => {
  using node = await aNode();
  const [before, after] = ['256Mi', '100Mi'];
  put(node, 'pod-0', 100, 1, before);
  await node.clock.advance(1000);
  await node.apply({ type: 'use', pick: 0, share: 0.6 });
  await node.clock.advance(1000);
  put(node, 'pod-0', 100, 2, after);
  await node.clock.advance(20_000);
  const shown = () => {
    const { containerStatuses: [app] = [], conditions = [] } = statusOf(node, 'pod-0') ?? {};
    const { requests, limits } = app?.resources ?? {};
    return [
      requests?.['memory'],
      limits?.['memory'],
      conditions.find(({ type }) => type === 'PodResizeInProgress')?.reason,
      app?.restartCount,
    ];
  };
  assert.deepEqual(shown(), [before, before, 'Error', 0]);
  await node.apply({ type: 'use', pick: 0, share: 0 });
  await node.clock.advance(10_000 + soonMs);
  assert.deepEqual(shown(), [after, after, undefined, 0]);
});
