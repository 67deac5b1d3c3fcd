/** Runs the sync pool's threads against the simulated runtime; the PLEG thread inspects the pods. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { RuntimeStatusCache } from '../../../src/main/pods/runtime-status-cache.ts';
import { PlegThread } from '../../../src/main/threads/pleg-thread.ts';
import { PodSyncPool } from '../../../src/main/threads/pod-sync-pool.ts';
import { SharedThreadState } from '../../../src/main/threads/shared-thread-state.ts';
import type { PodTask, TaskHandlers } from '../../../src/main/threads/task-channel.ts';
import type { RecordedEvent } from '../../../src/shared/contracts/event.ts';
import type { PodSyncResult } from '../../../src/shared/contracts/pod-sync/result.ts';
import type { RuntimePodStatus } from '../../../src/shared/contracts/runtime-status.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { CriClient } from '../../../src/shared/cri/client.ts';
import { podUID } from '../../../src/shared/kubernetes/ids.ts';
import { createRuntimeSnapshot } from '../../../src/shared/state/runtime-snapshot.ts';
import { aLogger } from '../../support/logger.ts';
import { aContainer, aPod, aSidecar } from '../../support/pods/pod-sync-samples.ts';
import { startSimulatedRuntime, waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { PodSyncHarness } from '../../support/pods/pod-sync-harness.ts';

async function aNode(t: TestContext, threads = 2) {
  const runtime = await startSimulatedRuntime(t);
  const { logger, lines } = aLogger();
  const folder = mkdtempSync(join(tmpdir(), 'pod-sync-'));
  using harness = new PodSyncHarness();
  const settings = {
    ...harness.settings,
    runtimeEndpoint: runtime.endpoint,
    imageEndpoint: runtime.endpoint,
    cgroupsPerQOS: false,
    rootDir: join(folder, 'kubelet'),
    podLogsDir: join(folder, 'pods'),
    containerLogsDir: join(folder, 'containers'),
  };
  for (const each of [settings.rootDir, settings.containerLogsDir]) mkdirSync(each);
  const state = new SharedThreadState({
    logging: { format: 'text', verbosity: 0, vmodule: [] },
    podSyncThreads: threads,
    syncFrequencyMs: 60_000,
  });
  const events: RecordedEvent[] = [];
  const client = new CriClient({ endpoint: runtime.endpoint });
  const pool = PodSyncPool.start({
    state,
    logger,
    settings,
  });
  const handlers: TaskHandlers = {
    ensureImage: async ({ image }) => {
      const { imageRef } = await client.images.call('pullImage', { image: { image } }, { deadlineMs: 10_000 });
      return { outcome: 'present', imageRef };
    },
    startPermit: () => Promise.resolve({ release: () => {} }),
    event: (event) => events.push(event),
  };
  const cache = new RuntimeStatusCache();
  const pleg = PlegThread.start({
    state,
    logger,
    settings: {
      runtimeEndpoint: runtime.endpoint,
      relistPeriodMs: 1000,
      runtimeRequestTimeoutMs: 10_000,
      rootDir: settings.rootDir,
      podLogsDir: settings.podLogsDir,
      useEventStream: true,
      snapshot: createRuntimeSnapshot(100),
    },
    onMessage: (notification) => void cache.apply(notification),
  });
  t.after(async () => {
    await Promise.all([pool.close(), pleg.close()]);
    client.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { node } = harness;
  const inspect = async (pod: Pod): Promise<RuntimePodStatus | null> => {
    await pleg.inspectPod(podUID(pod));
    return cache.get(podUID(pod));
  };
  const run = (task: Omit<PodTask, 'node' | 'podUID'>, pod: Pod) => pool.run({ ...task, node, podUID: podUID(pod) } as PodTask, handlers);
  return {
    runtime,
    pool,
    events,
    lines,
    inspect,
    sync: async (pod: Pod, status?: null): Promise<PodSyncResult> => {
      const current = status === null ? null : await inspect(pod);
      return run({ kind: 'sync', pod, status: current, apiStatus: {}, backoffs: [] } as never, pod).result;
    },
    terminate: async (pod: Pod, gracePeriodSeconds: number | null = null) =>
      run({ kind: 'terminating', pod, status: await inspect(pod), gracePeriodSeconds } as never, pod),
    run,
  };
}

const pods = (count: number): Pod[] => Array.from({ length: count }, (_, i) => aPod({}, { name: `web-${i}`, uid: `uid-${i}` }));
const states = (status: RuntimePodStatus | null) => status?.containers.map(({ name, state }) => `${name} ${state}`);

test('a pod is started, stays unchanged on the next sync, and terminates', async (t) => {
  const node = await aNode(t);
  const pod = aPod({ containers: [aContainer('app')], initContainers: [aSidecar('s')] });
  assert.equal((await node.sync(pod)).outcome, 'synced');
  assert.equal((await node.sync(pod)).outcome, 'synced');
  assert.deepEqual(states(await node.inspect(pod)), ['app running', 's running']);
  const { changedRuntime } = await node.sync(pod);
  assert.equal(changedRuntime, false);
  assert.deepEqual(
    node.events.map(({ reason }) => reason),
    ['Created', 'Started', 'Created', 'Started'],
  );
  assert.equal((await (await node.terminate(pod, 5)).result).outcome, 'synced');
  assert.deepEqual(states(await node.inspect(pod)), ['app exited', 's exited']);
  assert.equal((await node.run({ kind: 'terminated', pod, status: null } as never, pod).result).outcome, 'synced');
  assert.equal((await node.run({ kind: 'cleanUp' } as never, pod).result).outcome, 'synced');
});

test('when threads die during a burst, each pod is started once', async (t) => {
  const node = await aNode(t);
  const all = pods(40);
  const results = Promise.all(all.map((pod) => node.sync(pod, null)));
  await waitUntil('some pods have sandboxes', async () => (await node.runtime.control.state()).sandboxes.length >= 5);
  await Promise.all([node.pool.kill(0), node.pool.kill(1)]);
  await results;
  // Syncs again after a failure, as main does: the call of a lost task may still have been in progress.
  for (const pod of all) if ((await node.sync(pod)).changedRuntime) await node.sync(pod);
  const { sandboxes, containers } = await node.runtime.control.state();
  assert.equal(sandboxes.filter(({ state }) => state === 'ready').length, 40);
  const running = containers.filter(({ state }) => state === 'running');
  assert.equal(running.length, 40);
  assert.equal(new Set(running.map(({ podUID: uid }) => uid)).size, 40);
});

test('a container that ignores its stop signal is killed as soon as the grace period shrinks', { timeout: 120_000 }, async (t) => {
  const node = await aNode(t, 1);
  const pod = aPod({ containers: [aContainer('app', { image: 'sim/stubborn:x' })] });
  await node.sync(pod);
  const run = await node.terminate(pod, 600);
  run.shrinkGracePeriod(1);
  assert.equal((await run.result).outcome, 'synced');
  assert.deepEqual(states(await node.inspect(pod)), ['app exited']);
});
