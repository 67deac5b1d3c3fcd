/**
 * Sandboxes that the runtime never makes, under the shipped daemon, a real API server and the simulated runtime: what they cost the pods beside
 * them.
 */
import assert from 'node:assert/strict';
import { availableParallelism } from 'node:os';
import { after, before, describe, test } from 'node:test';
import { KubeletProcess } from '../../bench/harness/kubelet-process.ts';
import type { Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { sharedCluster, type TestCluster } from '../support/control-plane.ts';
import { startSimulatedRuntime, waitUntil, type SimulatedRuntimeProcess } from '../support/simulated-runtime.ts';

const nodeName = 'hung-starts';
/** More than the kubelet starts at a time on its first burst. */
const hungPods = 4 * availableParallelism();
const patienceMs = 60_000;

describe('beside sandboxes that the runtime never makes', () => {
  const ends: (() => Promise<unknown>)[] = [];
  const later = { after: (end: () => Promise<unknown>) => void ends.unshift(end) };
  let cluster: TestCluster;
  let runtime: SimulatedRuntimeProcess;
  let podsPath: string;

  before(async () => {
    cluster = await sharedCluster();
    later.after(() => cluster.close());
    podsPath = `/api/v1/namespaces/${await cluster.namespace(later)}/pods`;
    runtime = await startSimulatedRuntime(later, { images: [{ name: 'sim/run:1' }] });
    const { config } = await cluster.member(later, nodeName);
    const kubeconfig = cluster.controlPlane.kubeletKubeconfig(nodeName);
    const kubelet = await KubeletProcess.start({
      runtimeEndpoint: runtime.endpoint,
      config: { ...config, address: '127.0.0.1' },
      member: { nodeName, kubeconfig },
    });
    later.after(() => kubelet.stop());
  });
  after(async () => {
    for (const end of ends) await end();
  });

  const create = (name: string, spec: Partial<PodSpec> = {}) =>
    cluster.api.create<Pod>(podsPath, {
      metadata: { name },
      spec: { nodeName, terminationGracePeriodSeconds: 1, containers: [{ name: 'app', image: 'sim/run:1' }], ...spec },
    });
  const isRunning = async (name: string) => (await cluster.api.get<Pod>(`${podsPath}/${name}`)).status?.phase === 'Running';
  const sandboxesAskedFor = async () => (await runtime.control.counters())['RunPodSandbox']?.inFlight ?? 0;

  test('critical pods and other pods start, and a deleted pod starts nothing more', { timeout: 3 * patienceMs }, async () => {
    const hung = Array.from({ length: hungPods }, (_, pod) => `hung-${pod}`);
    for (const name of hung) await runtime.control.fault({ call: 'RunPodSandbox', id: name, kind: 'hang' });
    await Promise.all(hung.map((name) => create(name)));
    await waitUntil('as many hang as are started at a time', async () => (await sandboxesAskedFor()) >= availableParallelism(), patienceMs);

    await create('critical', { priorityClassName: 'system-node-critical' });
    await waitUntil('the critical pod runs', () => isRunning('critical'), patienceMs);

    await create('next');
    await waitUntil('the next pod runs', () => isRunning('next'), patienceMs);
    await waitUntil('all the others hang', async () => (await sandboxesAskedFor()) === hungPods, patienceMs);

    await Promise.all(hung.map((name) => cluster.api.delete(`${podsPath}/${name}`)));
    await create('after-deletion');
    await waitUntil('the pod after the deletion runs', () => isRunning('after-deletion'), patienceMs);
    // The runtime is back: what it makes now nobody wants any more.
    await runtime.control.clearFaults();
    for (const name of hung) await waitUntil(`${name} is gone`, async () => !(await cluster.api.find(`${podsPath}/${name}`)), patienceMs);
    const { containers } = await runtime.control.state();
    assert.deepEqual(containers.map(({ podName }) => podName).sort(), ['after-deletion', 'critical', 'next']);
  });
});
