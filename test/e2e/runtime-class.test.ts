/** RuntimeClasses with a real API server, and a containerd with four handlers: runc's, the same under another name, crun's and gVisor's. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, test } from 'node:test';
import { otherRuntimes } from '../../lab/oci-runtimes/installation.ts';
import { secondRuntimeHandler } from '../../lab/containerd/containerd-config.ts';
import type { Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../support/cleanups.ts';
import { sharedCluster, type TestCluster } from '../support/cluster/control-plane.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';
import { parsePrometheus } from '../support/prometheus.ts';

interface PodUsage {
  readonly podRef: { readonly name: string };
  readonly cpu?: Cpu;
  readonly memory?: Memory;
  readonly network?: { readonly name: string; readonly rxBytes: number };
  readonly containers: readonly { readonly cpu?: Cpu; readonly memory?: Memory }[];
}
interface Cpu {
  readonly usageNanoCores?: number;
  readonly usageCoreNanoSeconds: number;
}
interface Memory {
  readonly workingSetBytes: number;
}

const nodeName = 'class-node';
const className = 'class-second';
const classPath = '/apis/node.k8s.io/v1/runtimeclasses';

describe('a pod with a runtime class', () => {
  const hooks = new Cleanups();
  let cluster: TestCluster;
  let namespace: string;
  let node: TestNode;

  const podPath = (name: string) => `/api/v1/namespaces/${namespace}/pods/${name}`;
  const createPod = (name: string, spec: Partial<PodSpec> = {}) =>
    cluster.api.create(podPath(''), aManifest(name, { nodeName, runtimeClassName: className, ...spec }, { namespace }));
  const untilEvent = (message: RegExp) =>
    waitUntil(
      `an event has the message ${message.source}`,
      async () =>
        message.test(
          await cluster.kubectl('-n', namespace, 'get', 'events', '-o', String.raw`jsonpath={range .items[*]}{.message}{"\n"}{end}`),
        ),
      60_000,
    );
  const createClass = () => cluster.api.create(classPath, { metadata: { name: className }, handler: secondRuntimeHandler });
  const untilRunning = (name: string) =>
    waitUntil(`${name} runs`, async () => (await cluster.api.get<Pod>(podPath(name))).status?.phase === 'Running', 60_000);
  const handlerOf = async (name: string) => {
    const { items } = await node.cri.runtime.call('listPodSandbox', {}, { deadlineMs: 10_000 });
    return items.find(({ metadata }) => metadata?.name === name)?.runtimeHandler;
  };

  before(async () => {
    cluster = await sharedCluster();
    hooks.after(() => cluster.close());
    namespace = await cluster.namespace(hooks);
    hooks.after(() => cluster.api.delete(`${classPath}/${className}`).catch(() => {}));
    await createClass();
    node = await TestNode.start(hooks, { ...(await cluster.member(hooks, nodeName)), ...otherRuntimes() });
  });
  after(async () => {
    await cluster?.kubectl('-n', namespace, 'delete', 'pods', '--all', '--grace-period=1', '--wait=true').catch(() => {});
    await hooks.run();
  });

  test('waits for a missing RuntimeClass with a reason, and runs when it exists', async () => {
    // The API server's admission refuses such a pod.
    await createPod('early');
    await cluster.api.delete(`${classPath}/${className}`);
    await node.startKubelet();
    await untilEvent(new RegExp(`^Failed to create pod sandbox: runtimeclass\\.node\\.k8s\\.io "${className}" not found$`, 'm'));
    await createClass();
    await untilRunning('early');
    assert.equal(await handlerOf('early'), secondRuntimeHandler);
  });

  test('with an existing class runs at once', async () => {
    await createPod('late');
    await untilRunning('late');
    assert.equal(await handlerOf('late'), secondRuntimeHandler);
  });

  test('of a handler that the runtime does not have waits with the runtime’s error', async () => {
    await cluster.api.create(classPath, { metadata: { name: 'class-unknown' }, handler: 'no-such-handler' });
    hooks.after(() => cluster.api.delete(`${classPath}/class-unknown`).catch(() => {}));
    await createPod('unknown', { runtimeClassName: 'class-unknown' });
    await untilEvent(/^Failed to create pod sandbox: rpc error: code = Unknown desc = .*no runtime for "no-such-handler" is configured/m);
    const { status } = await cluster.api.get<Pod>(podPath('unknown'));
    assert.equal(status?.phase, 'Pending');
  });

  test('with an overhead gets it in its cgroup, and admission counts it', async () => {
    const overhead = { podFixed: { memory: '16Mi', cpu: '50m' } };
    await cluster.api.create(classPath, { metadata: { name: 'class-heavy' }, handler: secondRuntimeHandler, overhead });
    const huge = { podFixed: { memory: '900Ti' } };
    await cluster.api.create(classPath, { metadata: { name: 'class-huge' }, handler: secondRuntimeHandler, overhead: huge });
    hooks.after(() => cluster.api.delete(`${classPath}/class-heavy`).catch(() => {}));
    hooks.after(() => cluster.api.delete(`${classPath}/class-huge`).catch(() => {}));
    const resources = { limits: { cpu: '200m', memory: '32Mi' } };
    await createPod('heavy', { runtimeClassName: 'class-heavy', containers: [aBusybox({ resources })] });
    await createPod('huge', { runtimeClassName: 'class-huge' });
    await untilRunning('heavy');
    const { metadata, spec } = await cluster.api.get<Pod>(podPath('heavy'));
    assert.deepEqual(spec.overhead, overhead.podFixed);
    const cgroup = `${node.cgroupRoot}/kubepods/pod${metadata.uid}`;
    const read = (file: string) => readFileSync(join('/sys/fs/cgroup', file.split('.')[0] ?? '', cgroup, file), 'utf8').trim();
    assert.deepEqual(
      [read('memory.limit_in_bytes'), read('cpu.shares'), read('cpu.cfs_quota_us')],
      [String((32 + 16) * 1024 * 1024), '256', '25000'],
    );
    const { status } = await waitUntil(
      'the huge pod is refused',
      async () => {
        const pod = await cluster.api.get<Pod>(podPath('huge'));
        return pod.status?.phase === 'Failed' ? pod : undefined;
      },
      60_000,
    );
    assert.match(`${status?.reason}: ${status?.message}`, /^OutOfmemory: .*requested: 989560464998400/);
  });

  const page = (path: string) => cluster.api.text(`/api/v1/nodes/${nodeName}/proxy/${path}`);
  const summaryOf = async (name: string) => {
    const { pods } = JSON.parse(await page('stats/summary')) as { readonly pods: readonly PodUsage[] };
    return pods.find(({ podRef }) => podRef.name === name);
  };

  /** The memory in bytes, the processor time in seconds, and the received bytes of a pod and its container, as each page about usage has them. */
  async function usageOf(name: string) {
    const { cpu, memory, network, containers } = (await summaryOf(name))!;
    const [resource, cadvisor] = [parsePrometheus(await page('metrics/resource')), parsePrometheus(await page('metrics/cadvisor'))];
    const valueOf = (metrics: typeof resource, metric: string, label: string, value: string) =>
      metrics.get(metric)?.samples.find(({ labels }) => labels['pod'] === name && labels[label] === value)?.value;
    const ofContainer = (metric: string) => [resource, cadvisor].map((metrics) => valueOf(metrics, metric, 'container', 'app'));
    return {
      memory: [memory, containers[0]?.memory]
        .map((each) => each?.workingSetBytes)
        .concat(ofContainer('container_memory_working_set_bytes')),
      cpu: [cpu, containers[0]?.cpu]
        .map((each) => (each?.usageCoreNanoSeconds ?? 0) / 1e9)
        .concat(ofContainer('container_cpu_usage_seconds_total').map((value) => value ?? 0)),
      network: [
        network?.name === 'eth0' ? network.rxBytes : 0,
        valueOf(cadvisor, 'container_network_receive_bytes_total', 'interface', 'eth0'),
      ],
    };
  }

  /** Runs a pod with memory, and one that exceeds a limit, with this handler. */
  async function isMeasuredAndEvicted(handler: string): Promise<void> {
    const runtimeClassName = `class-${handler}`;
    const [quiet, full] = [`${handler}-quiet`, `${handler}-full`];
    await cluster.api.create(classPath, { metadata: { name: runtimeClassName }, handler });
    hooks.after(() => cluster.api.delete(`${classPath}/${runtimeClassName}`).catch(() => {}));
    // The variable is 10 MB of anonymous memory.
    const sh = 'x=$(head -c 10000000 /dev/zero | tr "\\0" x); sleep 10000 & wait; echo $x';
    await createPod(quiet, { runtimeClassName, containers: [aBusybox({ sh })] });
    const limits = { 'ephemeral-storage': '4Mi' };
    const writer = aBusybox({ sh: 'head -c 8000000 /dev/zero > /written; sleep 10000 & wait', resources: { limits } });
    await createPod(full, { runtimeClassName, containers: [writer], terminationGracePeriodSeconds: 0 });
    await untilRunning(quiet);
    assert.equal(await handlerOf(quiet), handler);
    const isMeasured = async () => {
      const app = (await summaryOf(quiet))?.containers[0];
      return app?.cpu?.usageNanoCores !== undefined && app.memory!.workingSetBytes > 10e6;
    };
    await waitUntil(`${quiet} is measured`, () => everySecond(isMeasured), 90_000);
    const { memory, cpu, network } = await usageOf(quiet);
    const text = JSON.stringify([memory, cpu, network]);
    assert.ok(
      memory.every((bytes) => bytes !== undefined && bytes > 10e6 && bytes < 200e6) && cpu.every((seconds) => seconds > 0.01),
      text,
    );
    assert.ok(
      network.every((bytes) => bytes !== undefined && bytes > 0),
      text,
    );
    const isEvicted = async () => {
      const { status } = await cluster.api.get<Pod>(podPath(full));
      return status?.reason === 'Evicted' ? status : undefined;
    };
    const evicted = await waitUntil(`${full} is evicted`, () => everySecond(isEvicted), 90_000);
    assert.match(evicted.message!, /^Pod ephemeral local storage usage exceeds the total limit of containers 4Mi/);
    const { status } = await cluster.api.get<Pod>(podPath(quiet));
    assert.deepEqual([status?.phase, status?.containerStatuses?.[0]?.restartCount], ['Running', 0]);
  }

  test('of crun or gVisor is measured, and evicted at a limit of its local storage without harm to others', async () => {
    await Promise.all(['crun', 'runsc'].map(isMeasuredAndEvicted));
  });
});

/** What is measured each ten seconds needs no faster polls. */
async function everySecond<T>(poll: () => Promise<T>): Promise<T> {
  await sleep(1000);
  return poll();
}
