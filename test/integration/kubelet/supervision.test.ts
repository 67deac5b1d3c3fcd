/** The threads of a loaded kubelet are killed one after the other: no pod is affected. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { StandaloneNode } from '../../support/kubelet/standalone-node.ts';

/** The running threads of this process by name. Threads of the sync pool have no name. */
const workers = new Map<number, { readonly worker: Worker; readonly name: string }>();
function track(worker: Worker): void {
  const { threadId } = worker;
  const name = (worker as { threadName?: string }).threadName ?? '';
  workers.set(threadId, { worker, name: ['pleg', 'images', 'stats', 'probes', 'server', 'health'].includes(name) ? name : 'pod-sync' });
  worker.once('exit', () => workers.delete(threadId));
}
process.on('worker', track);
after(() => process.off('worker', track));

const runningThreads = (name: string) => [...workers.values()].filter((thread) => thread.name === name);
const podCount = 20;
/** The server thread may be one of the killed threads. */
const podsOrNone = (node: StandaloneNode) => node.pods().catch(() => []);

test('threads that are killed during a burst restart, every pod runs, and no container starts twice', { timeout: 120_000 }, async (t) => {
  const node = await StandaloneNode.start(t);
  await node.startKubelet();
  await waitUntil('every thread runs', () =>
    ['pleg', 'images', 'stats', 'server', 'health'].every((name) => runningThreads(name).length === 1),
  );
  for (let pod = 0; pod < podCount; pod += 1) {
    const spec = { dnsPolicy: 'Default', containers: [{ name: 'app', image: 'sim/run:1', readinessProbe: { tcpSocket: { port: 1 } } }] };
    node.writeManifest(`pod-${pod}.json`, { apiVersion: 'v1', kind: 'Pod', metadata: { name: `pod-${pod}` }, spec });
  }
  await waitUntil('the burst has begun', async () => (await node.runtime.control.state()).sandboxes.length > 3);
  for (const name of ['pod-sync', 'pleg', 'images', 'stats', 'probes', 'server', 'health', 'pod-sync']) {
    await waitUntil(`${name} runs`, () => runningThreads(name).length > 0);
    const victims = runningThreads(name);
    await Promise.all(victims.map(({ worker }) => worker.terminate()));
    await waitUntil(
      `${name} has restarted`,
      () =>
        runningThreads(name).length >= victims.length &&
        runningThreads(name).every(({ worker }) => !victims.some((victim) => victim.worker === worker)),
    );
    await sleep(50);
  }
  await waitUntil(
    'every pod runs',
    async () => (await podsOrNone(node)).filter(({ status }) => status?.phase === 'Running').length === podCount,
    60_000,
  );
  const { sandboxes, containers } = await node.runtime.control.state();
  const running = containers.filter(({ state }) => state === 'running');
  assert.equal(running.length, podCount);
  assert.equal(new Set(running.map(({ podUID }) => podUID)).size, podCount);
  assert.equal(sandboxes.filter(({ state }) => state === 'ready').length, podCount);

  const before = running.map(({ id }) => id).sort();
  const all = Array.from(workers.values());
  for (const { worker } of all) await worker.terminate();
  await waitUntil('the runtime is listed again', () => runningThreads('pleg').length === 1 && runningThreads('pod-sync').length >= 1);
  await sleep(2500);
  const state = await node.runtime.control.state();
  const after = state.containers.filter(({ state }) => state === 'running').map(({ id }) => id);
  assert.deepEqual(after.sort(), before);
});
