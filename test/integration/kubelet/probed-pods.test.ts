/** Probed pods of a whole kubelet on the simulated runtime: while a thread dies, the runtime hangs, and other pods start. */
import assert from 'node:assert/strict';
import { after, test, type TestContext } from 'node:test';
import type { Worker } from 'node:worker_threads';
import type { Container, Pod } from '../../../src/shared/kubernetes/api.ts';
import { HttpTarget } from '../../support/kubelet/probe-targets.ts';
import { StandaloneNode } from '../../support/kubelet/standalone-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const probeThreads = new Set<Worker>();
function track(worker: Worker): void {
  if ((worker as { threadName?: string }).threadName !== 'probes') return;
  probeThreads.add(worker);
  worker.once('exit', () => probeThreads.delete(worker));
}
process.on('worker', track);
after(() => process.off('worker', track));

const fast = { periodSeconds: 1, failureThreshold: 1 };
const app = ({ status }: Pod) => status?.containerStatuses?.[0];
const isReady = (pod: Pod) => app(pod)?.ready === true;

async function aNode(t: TestContext) {
  const http = await HttpTarget.start(t);
  const node = await StandaloneNode.start(t);
  await node.startKubelet();
  const write = (name: string, container: Partial<Container> = {}, spec: object = {}) => {
    const containers = [{ name: 'app', image: 'sim/run:1', ...container }];
    node.writeManifest(`${name}.json`, {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name },
      spec: { dnsPolicy: 'Default', terminationGracePeriodSeconds: 2, containers, ...spec },
    });
  };
  return { http, node, write };
}

test('a probes thread that dies changes no readiness, and its successor goes on', { timeout: 60_000 }, async (t) => {
  const { http, node, write } = await aNode(t);
  const probes = {
    startupProbe: { ...http.get('/a'), ...fast },
    readinessProbe: { ...http.get('/a'), ...fast },
    livenessProbe: { ...http.get('/a-live'), ...fast },
  };
  write('a', probes);
  await node.waitForPod('a', 'is ready', isReady);
  const seen: boolean[] = [];
  const [before] = probeThreads;
  await before!.terminate();
  const [ready, live] = [http.countOf('/a'), http.countOf('/a-live')];
  await waitUntil('the successor probes', async () => {
    const pod = await node.pod('a');
    seen.push(pod !== undefined && isReady(pod) && app(pod)?.started === true);
    return http.countOf('/a') > ready + 2 && http.countOf('/a-live') > live + 2;
  });
  assert.ok(!seen.includes(false));
  http.statuses.set('/a', 500);
  await node.waitForPod('a', 'is not ready', (pod) => !isReady(pod));
  http.statuses.set('/a-live', 500);
  await node.waitForPod('a', 'has restarted', (pod) => (app(pod)?.restartCount ?? 0) > 0);
});

test('readiness follows the probe while the runtime hangs; a failed container restarts when it is back', { timeout: 60_000 }, async (t) => {
  const { http, node, write } = await aNode(t);
  write('a', { readinessProbe: { ...http.get('/a'), ...fast }, livenessProbe: { ...http.get('/a-live'), ...fast } });
  await node.waitForPod('a', 'is ready', isReady);
  await node.runtime.control.closeSocket();
  http.statuses.set('/a', 500);
  await node.waitForPod('a', 'is not ready', (pod) => !isReady(pod));
  http.statuses.delete('/a');
  await node.waitForPod('a', 'is ready', isReady);
  http.statuses.set('/a-live', 500);
  const failures = http.countOf('/a-live');
  await waitUntil('the liveness probe has failed', () => http.countOf('/a-live') > failures);
  http.statuses.delete('/a-live');
  await node.runtime.control.openSocket();
  await node.waitForPod('a', 'has restarted and is ready', (pod) => app(pod)?.restartCount === 1 && isReady(pod), 40_000);
});

test('a container with a failed probe restarts before the pods of a burst start', { timeout: 60_000 }, async (t) => {
  const { http, node, write } = await aNode(t);
  write('a', { livenessProbe: { ...http.get('/a'), ...fast } });
  await node.waitForPod('a', 'is ready', isReady);
  await node.runtime.control.configure({ preset: 'containerd' });
  const burst = Array.from({ length: 60 }, (_, index) => `burst-${index}`);
  for (const name of burst) write(name);
  await waitUntil('the burst has begun', async () => (await node.runtime.control.state()).sandboxes.length > 5);
  http.statuses.set('/a', 500);
  const started = await waitUntil(
    'the container has restarted',
    async () => {
      const { containers, sandboxes } = await node.runtime.control.state();
      const again = containers.find(({ podName, attempt, state }) => podName === 'a-node-1' && attempt === 1 && state === 'running');
      return again ? sandboxes.length : null;
    },
    30_000,
  );
  assert.ok(started < burst.length, `${started} sandboxes had started`);
});

test('a removed pod is probed until its containers have stopped, and no longer', { timeout: 60_000 }, async (t) => {
  const { http, node, write } = await aNode(t);
  for (const name of ['a', 'b']) write(name, { readinessProbe: { ...http.get(`/${name}`), ...fast } });
  for (const name of ['a', 'b']) await node.waitForPod(name, 'is ready', isReady);
  node.removeManifest('a.json');
  await waitUntil('the pod is gone', async () => (await node.runtime.control.state()).sandboxes.length === 1, 20_000);
  const [gone, other] = [http.countOf('/a'), http.countOf('/b')];
  await waitUntil('the other pod is probed', () => http.countOf('/b') > other + 2);
  assert.equal(http.countOf('/a'), gone);
});

test(
  'a ready container of a standalone kubelet is probed at once after a restart, not within its period',
  { timeout: 60_000 },
  async (t) => {
    const { http, node, write } = await aNode(t);
    const slow = { periodSeconds: 3600 };
    write('a', { startupProbe: { ...http.get('/start'), ...slow }, readinessProbe: { ...http.get('/ready'), ...slow } });
    await node.waitForPod('a', 'is ready', isReady);
    await node.stopKubelet();
    await node.startKubelet();
    await node.waitForPod('a', 'is ready again', (pod) => isReady(pod) && app(pod)?.started === true);
    assert.equal(app((await node.pod('a'))!)?.restartCount, 0);
  },
);
