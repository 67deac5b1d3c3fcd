/** Tests the pleg thread on the simulated runtime through its notifications to main. */
import assert from 'node:assert/strict';
import { tmpdir } from 'node:os';
import { test, type TestContext } from 'node:test';
import type { RuntimeOptionsInput } from '../../../lab/simulated-runtime/options.ts';
import { PlegThread } from '../../../src/main/threads/pleg-thread.ts';
import { SharedThreadState } from '../../../src/main/threads/shared-thread-state.ts';
import type { PlegNotification, PodLifecycleEvent } from '../../../src/shared/contracts/pleg.ts';
import type { RuntimePodStatus } from '../../../src/shared/contracts/runtime-status.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { definitions } from '../../../src/shared/metrics/definitions/all-definitions.ts';
import { renderMetrics } from '../../../src/shared/metrics/index.ts';
import { HeartbeatsReader } from '../../../src/shared/state/heartbeats.ts';
import { createRuntimeSnapshot, RuntimeSnapshotReader } from '../../../src/shared/state/runtime-snapshot.ts';
import { aLogger } from '../../support/logger.ts';
import { startSimulatedRuntime, waitUntil } from '../../support/runtime/simulated-runtime.ts';

type Ended = Extract<PodLifecycleEvent, { type: 'ContainerDied' | 'ContainerRemoved' }>;

interface Options extends RuntimeOptionsInput {
  readonly relistPeriodMs?: number;
  readonly useEventStream?: boolean;
}

async function aPlegThread(t: TestContext, { relistPeriodMs = 100, useEventStream = true, ...options }: Options = {}) {
  const { endpoint, control } = await startSimulatedRuntime(t, options);
  const { logger } = aLogger();
  const state = new SharedThreadState({
    logging: { format: 'text', verbosity: -1, vmodule: [] },
    podSyncThreads: 1,
    syncFrequencyMs: 60_000,
  });
  const snapshot = createRuntimeSnapshot(2500);
  const messages: PlegNotification[] = [];
  const cache = new Map<PodUID, RuntimePodStatus>();
  const start = () => {
    const pleg = PlegThread.start({
      state,
      logger,
      settings: {
        runtimeEndpoint: endpoint,
        relistPeriodMs,
        runtimeRequestTimeoutMs: 20_000,
        useEventStream,
        rootDir: tmpdir(),
        podLogsDir: tmpdir(),
        snapshot,
      },
      onMessage: (message) => {
        messages.push(message);
        for (const status of message.statuses) cache.set(status.podUID, status);
        for (const uid of message.removed) cache.delete(uid);
      },
    });
    t.after(() => pleg.close());
    return pleg;
  };
  const events = () => messages.flatMap((message) => message.events);
  const relisted = () => messages.findLast(({ relistedAtMs }) => relistedAtMs !== undefined)?.relistedAtMs ?? -1;
  return {
    control,
    start,
    messages,
    cache,
    events,
    /** Returns the status that was received before the answer. */
    inspect: async (pleg: PlegThread, podUID: string) => {
      await pleg.inspectPod(podUID as PodUID);
      return cache.get(podUID as PodUID);
    },
    snapshot: new RuntimeSnapshotReader(snapshot),
    metrics: () => renderMetrics(state.metricsSegments(), definitions),
    health: () => new HeartbeatsReader(state.heartbeats).threads().find(({ thread }) => thread === 'pleg')!,
    event: (type: 'ContainerDied' | 'ContainerRemoved', id: string) =>
      waitUntil(`${type} of ${id}`, () => events().find((event): event is Ended => event.type === type && event.containerID === id)),
    nextRelist: async () => {
      const last = relisted();
      await waitUntil('a later relist', () => relisted() > last);
    },
  };
}

test('500 pods are reported with all their containers, and an unchanged runtime causes no notification', async (t) => {
  const node = await aPlegThread(t);
  const pods = await node.control.seed({ pods: 500, containersPerPod: 2 });
  const pleg = node.start();
  await waitUntil('the first relist', () => node.messages.some(({ relistedAtMs }) => relistedAtMs !== undefined));
  assert.equal(node.cache.size, 500);
  assert.equal((await node.control.counters())['ContainerStatus']?.count ?? 0, 0);
  for (const { podUID, containerIDs } of pods) {
    const status = node.cache.get(podUID as PodUID)!;
    assert.deepEqual(new Set(status.containers.map(({ id }) => id as string)), new Set(containerIDs));
    assert.equal(status.containers[0]!.hash, '8cc09462');
  }
  await pleg.relist();
  await waitUntil('every pod was inspected', () => [...node.cache.values()].every(({ podIPs }) => podIPs.length === 1));
  assert.equal(node.events().length, 1500);
  assert.equal(node.snapshot.size, 1500);
  node.messages.length = 0;
  const before = await node.control.counters();
  for (let relist = 0; relist < 3; relist += 1) await node.nextRelist();
  assert.ok(node.messages.every(({ statuses, events, removed: gone }) => statuses.length + events.length + gone.length === 0));
  const after = await node.control.counters();
  assert.equal(after['ContainerStatus']!.count, before['ContainerStatus']!.count);
  assert.ok(node.health().beat!.loopAtMs > 0);
  const metrics = node.metrics();
  assert.match(metrics, /^kubelet_running_pods 500$/m);
  assert.match(metrics, /^kubelet_running_containers\{container_state="running"\} 1000$/m);
  assert.match(metrics, /^kubelet_runtime_operations_total\{operation_type="list_containers"\} \d+$/m);
  assert.match(metrics, /^kubelet_pleg_relist_duration_seconds_count \d+$/m);
});

for (const useEventStream of [true, false]) {
  test(`an exit is reported ${useEventStream ? 'long before the next relist' : 'with the next relist when the runtime has no events'}`, async (t) => {
    const node = await aPlegThread(t, { events: useEventStream, relistPeriodMs: useEventStream ? 60_000 : 100 });
    const [pod] = await node.control.seed({ pods: 1, containersPerPod: 2 });
    const pleg = node.start();
    await pleg.relist();
    if (useEventStream) await waitUntil('it listens', async () => (await node.control.eventSubscribers()) === 1);
    await node.control.exitContainer(pod!.containerIDs[0]!, 3, 'OOMKilled');
    const died = await node.event('ContainerDied', pod!.containerIDs[0]!);
    assert.deepEqual([died.podUID, 'exitCode' in died && died.exitCode], [pod!.podUID, 3]);
    const seen = node.cache.get(pod!.podUID as PodUID)!.containers.find(({ id }) => id === died.containerID)!;
    assert.deepEqual([seen.state, seen.reason], ['exited', 'OOMKilled']);
    assert.deepEqual([...node.snapshot.all()].find(({ id }) => id === died.containerID)?.state, 'exited');
    await node.control.removeSandbox(pod!.sandboxID);
    if (useEventStream) await pleg.inspectPod(pod!.podUID as PodUID);
    await node.event('ContainerRemoved', pod!.sandboxID);
    assert.equal(node.cache.size, 0);
  });
}

test('the current state is received before the answer of an inspection', async (t) => {
  const node = await aPlegThread(t, { events: false, relistPeriodMs: 60_000 });
  const pleg = node.start();
  await pleg.relist();
  const [pod] = await node.control.seed({ pods: 1, containersPerPod: 1 });
  const seen = await node.inspect(pleg, pod!.podUID);
  assert.deepEqual([seen?.name, seen?.containers[0]?.state, seen?.sandboxes[0]?.state], ['seeded-0', 'running', 'ready']);
  await node.control.removeSandbox(pod!.sandboxID);
  assert.equal(await node.inspect(pleg, pod!.podUID), undefined);
  const info = await pleg.runtimeInfo();
  assert.deepEqual([info.runtimeName, info.cgroupDriver], ['simulated', 'cgroupfs']);
  assert.deepEqual(info.conditions.map(({ type, status }) => `${type} ${status}`).sort(), ['NetworkReady true', 'RuntimeReady true']);
});

test('a runtime without RuntimeConfig is asked for it once', async (t) => {
  const node = await aPlegThread(t, { cgroupDriver: 'unimplemented' });
  const pleg = node.start();
  for (let times = 0; times < 3; times += 1) assert.equal((await pleg.runtimeInfo()).cgroupDriver, null);
  const { RuntimeConfig, Status } = await node.control.counters();
  assert.deepEqual([RuntimeConfig?.count, Status?.count], [1, 3]);
});

test('a hanging container is a failure of its pod and affects nothing else', async (t) => {
  const node = await aPlegThread(t, { events: false });
  const [wedged, well] = await node.control.seed({ pods: 2, containersPerPod: 2 });
  const [hangs, dies] = wedged!.containerIDs;
  const pleg = node.start();
  await pleg.relist();
  await node.control.fault({ call: 'ContainerStatus', id: hangs!, kind: 'hang' });
  await node.control.exitContainer(dies!, 1);
  await waitUntil('it hangs', async () => (await node.control.counters())['ContainerStatus']!.inFlight === 1);
  await node.control.exitContainer(well!.containerIDs[0]!, 2);
  await node.event('ContainerDied', well!.containerIDs[0]!);
  assert.equal(node.cache.get(wedged!.podUID as PodUID)!.failure, undefined);
  // Items with a reply are reported once the inspection is slow.
  await node.event('ContainerDied', dies!);
  assert.match(
    node.cache.get(wedged!.podUID as PodUID)!.failure!.message,
    new RegExp(`status of container app-0 \\(${hangs}\\): no answer for \\d+ ms`),
  );
  await node.nextRelist();
  await node.control.clearFaults();
  await waitUntil('the container replies', () => node.cache.get(wedged!.podUID as PodUID)!.failure === undefined);
});

test('a restart of the runtime loses no events', async (t) => {
  const node = await aPlegThread(t, { relistPeriodMs: 100 });
  const pods = await node.control.seed({ pods: 20, containersPerPod: 2 });
  const pleg = node.start();
  await pleg.relist();
  await waitUntil('it listens', async () => (await node.control.eventSubscribers()) === 1);
  await node.control.closeSocket();
  await assert.rejects(pleg.relist(), /code = Unavailable/);
  await assert.rejects(pleg.inspectPod(pods[0]!.podUID as PodUID), /code = Unavailable/);
  node.messages.length = 0;
  await node.control.openSocket();
  await waitUntil('it relists again', () => node.messages.some(({ relistedAtMs }) => relistedAtMs !== undefined));
  assert.deepEqual([node.cache.size, node.snapshot.size], [20, 60]);
  assert.deepEqual(
    node.events().filter(({ type }) => type !== 'PodSync'),
    [],
  );
  await waitUntil('it listens again', async () => (await node.control.eventSubscribers()) === 1);
  await node.control.exitContainer(pods[3]!.containerIDs[0]!, 1);
  await node.event('ContainerDied', pods[3]!.containerIDs[0]!);
  assert.match(node.metrics(), /^kubelet_runtime_operations_errors_total\{operation_type="list_podsandbox"\} [1-9]/m);
});

test('lists above the message limit come in portions, or are streamed where the runtime supports it', async (t) => {
  const node = await aPlegThread(t, { events: false });
  const pods = await node.control.seed({ pods: 3, containersPerPod: 1 });
  const pleg = node.start();
  await pleg.relist();
  for (const call of ['ListContainers', 'ListPodSandbox']) await node.control.fault({ call, kind: 'oversize' });
  await pleg.relist();
  await node.control.exitContainer(pods[0]!.containerIDs[0]!, 1);
  await node.event('ContainerDied', pods[0]!.containerIDs[0]!);
  assert.equal(node.cache.size, 3);
  await node.control.configure({ streamingLists: true });
  await node.control.exitContainer(pods[1]!.containerIDs[0]!, 1);
  await node.event('ContainerDied', pods[1]!.containerIDs[0]!);
  assert.equal(node.cache.size, 3);
});

test('a restarted pleg thread reports everything that the runtime has', async (t) => {
  const node = await aPlegThread(t);
  const pods = await node.control.seed({ pods: 5, containersPerPod: 1 });
  const pleg = node.start();
  await pleg.relist();
  assert.equal(node.snapshot.size, 10);
  await pleg.thread.kill();
  const seen = await node.inspect(pleg, pods[2]!.podUID);
  assert.equal(seen?.containers.length, 1);
  await pleg.relist();
  assert.equal(node.snapshot.size, 10);
  assert.equal(node.events().filter(({ type }) => type === 'ContainerDied').length, 0);
});
