/** Resource usage on a node with a real containerd: the summary, and the pages for metrics-server and Prometheus. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../support/cleanups.ts';
import { aBusybox, aManifest, busybox, TestNode } from '../support/kubelet/test-node.ts';
import { parsePrometheus, type Metric } from '../support/prometheus.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

interface Usage {
  readonly name: string;
  readonly startTime: string;
  readonly cpu: { readonly usageNanoCores?: number; readonly usageCoreNanoSeconds: number };
  readonly logs?: Filesystem;
  readonly memory: Readonly<Record<'availableBytes' | 'usageBytes' | 'workingSetBytes' | 'rssBytes' | 'pageFaults', number>>;
}
type Filesystem = Readonly<Record<'availableBytes' | 'capacityBytes' | 'usedBytes' | 'inodesFree' | 'inodesUsed', number>>;
interface PodUsage extends Usage {
  readonly podRef: { readonly name: string; readonly namespace: string; readonly uid: string };
  readonly containers: readonly Usage[];
  readonly network?: { readonly name: string; readonly rxBytes: number; readonly interfaces: readonly { readonly name: string }[] };
  readonly process_stats?: { readonly process_count: number };
}
interface Summary {
  readonly node: Usage & {
    readonly nodeName: string;
    readonly systemContainers: readonly Usage[];
    readonly fs?: Filesystem;
    readonly runtime?: { readonly imageFs?: Filesystem; readonly containerFs?: Filesystem };
    readonly rlimit?: { readonly maxpid: number; readonly curproc: number };
  };
  readonly pods: readonly PodUsage[];
}

const MiB = 1024 * 1024;

describe('the usage of a node', () => {
  const hooks = new Cleanups();
  let node: TestNode;
  let pod: Pod;
  let containerRuntimeEndpoint: string;

  const summary = async (query = ''): Promise<Summary> => {
    const reply = await node.get(`/stats/summary${query}`);
    assert.equal(reply.status, 200, await reply.clone().text());
    return (await reply.json()) as Summary;
  };
  const page = async (path: string): Promise<Map<string, Metric>> => {
    const reply = await node.get(path);
    assert.equal(reply.status, 200);
    return parsePrometheus(await reply.text());
  };
  const podUsage = async (query = '') => (await summary(query)).pods.find(({ podRef }) => podRef.uid === pod.metadata.uid);

  before(async () => {
    node = await TestNode.start(hooks);
    // By its socket this containerd is CRI-O.
    const socket = join(node.folder, 'run/crio/crio.sock');
    mkdirSync(dirname(socket), { recursive: true });
    symlinkSync(node.containerd.endpoint.replace('unix://', ''), socket);
    containerRuntimeEndpoint = `unix://${socket}`;
    await node.startKubelet({ configuration: { containerRuntimeEndpoint } });
    const limits = { cpu: '200m', memory: '64Mi' };
    node.apply(
      aManifest('eater', {
        containers: [
          aBusybox({ name: 'busy', sh: 'head -c 100000 /dev/zero | tr "\\0" "\\n"; while :; do :; done', resources: { limits } }),
          // The variable is 20 MB of anonymous memory.
          aBusybox({
            name: 'large',
            sh: 'x=$(head -c 20000000 /dev/zero | tr "\\0" x); sleep 10000 & wait; echo $x',
            resources: { limits },
          }),
        ],
        terminationGracePeriodSeconds: 0,
      }),
    );
    // Exceeds its limit in a child process, which the kernel ends.
    const leaky = aBusybox({ sh: 'tail -c 200000000 /dev/zero; sleep 10000 & wait', resources: { limits: { memory: '16Mi' } } });
    node.apply(aManifest('done', { containers: [aBusybox({ sh: 'exit 0' })], restartPolicy: 'Never' }));
    node.apply(aManifest('leaky', { containers: [leaky], terminationGracePeriodSeconds: 0 }));
    pod = await node.untilRunning('eater');
    // The second sample of a container has its processor time per second. The node itself is measured two seconds after the start.
    const hasRates = async () => {
      const { containers = [] } = (await podUsage().catch(() => undefined)) ?? {};
      return containers.length === 2 && containers.every(({ cpu }) => cpu?.usageNanoCores !== undefined);
    };
    await waitUntil('both containers are measured', hasRates, 40_000);
  });
  after(() => hooks.run());

  test('is in the summary, with the limits of containers', async () => {
    const usage = (await podUsage())!;
    assert.deepEqual(usage.podRef, { name: 'eater-test-node', namespace: 'default', uid: pod.metadata.uid });
    const [busy, large] = usage.containers;
    assert.deepEqual([busy?.name, large?.name], ['busy', 'large']);
    const { usageNanoCores, usageCoreNanoSeconds } = busy!.cpu;
    assert.ok(usageNanoCores! > 50e6 && usageNanoCores! < 300e6, `${usageNanoCores} nano cores with a limit of 200m`);
    assert.ok(usageCoreNanoSeconds > 0);
    assert.ok(large!.memory.rssBytes > 20e6 && large!.memory.rssBytes < 64 * MiB, `${large!.memory.rssBytes} bytes`);
    assert.equal(large!.memory.availableBytes, 64 * MiB - large!.memory.workingSetBytes);
    assert.ok(usage.cpu.usageCoreNanoSeconds >= usageCoreNanoSeconds && usage.memory.rssBytes >= large!.memory.rssBytes);
    assert.ok(Math.abs(Date.parse(large!.startTime) - Date.parse(pod.status!.startTime!)) < 20_000, large!.startTime);
    assert.equal(usage.network?.name, 'eth0');
    // The log has more than 100,000 lines of CRI's format, and one file.
    assert.ok(busy!.logs!.usedBytes > 100_000 && busy!.logs!.inodesUsed === 1, JSON.stringify(busy!.logs));
    assert.ok(usage.process_stats!.process_count >= 4);
  });

  /** The pod is guaranteed. */
  const cgroupOf = (container: string) => {
    const id = pod.status!.containerStatuses!.find(({ name }) => name === container)!.containerID!.split('//')[1]!;
    return join('/sys/fs/cgroup/cpuacct', node.cgroupRoot, 'kubepods', `pod${pod.metadata.uid}`, id);
  };

  test('is what the kernel counts', async () => {
    const guaranteed = join(cgroupOf('busy'), 'cpuacct.usage');
    const before = (await podUsage())!.containers[0]!.cpu.usageCoreNanoSeconds;
    const counted = Number(readFileSync(guaranteed, 'utf8'));
    // A sample is at most a period old, and a container uses at most 0.2 cores.
    assert.ok(counted >= before && counted - before < 15e9 * 0.3, `${before} in the summary, ${counted} in ${guaranteed}`);
  });

  test('has the times at which the runtime has created the containers, and no pod without one that runs', async () => {
    const { pods } = await summary();
    assert.deepEqual(pods.map(({ podRef }) => podRef.name).toSorted(), ['eater-test-node', 'leaky-test-node']);
    assert.deepEqual(startTimesOf((await podUsage())!), await createdAt());
  });

  const startTimesOf = ({ containers }: PodUsage) => containers.map(({ startTime }) => startTime);
  /** By name, to the second as in the summary. */
  const createdAt = () =>
    Promise.all(
      pod.status!.containerStatuses!.map(async ({ containerID }) => {
        const { status } = await node.cri.runtime.call(
          'containerStatus',
          { containerId: containerID!.split('//')[1]! },
          { deadlineMs: 5000 },
        );
        return new Date(Number(status!.createdAt / 1_000_000n)).toISOString().replace(/\.\d+Z/, 'Z');
      }),
    );

  test('of the node and its system containers is in the summary', async () => {
    const { node: usage } = await summary();
    assert.equal(usage.nodeName, 'test-node');
    assert.ok(usage.memory.availableBytes > 0 && usage.memory.usageBytes > 100 * MiB);
    assert.ok(usage.systemContainers.some(({ name }) => name === 'pods'));
    assert.ok(usage.fs!.capacityBytes > usage.fs!.availableBytes && usage.fs!.inodesFree > 0);
    // The runtime counts the used bytes some time after an import.
    assert.ok(usage.runtime!.imageFs!.usedBytes >= 0 && usage.runtime!.imageFs!.capacityBytes > 0);
    assert.equal(usage.runtime!.containerFs!.capacityBytes, usage.runtime!.imageFs!.capacityBytes);
    assert.ok(usage.rlimit!.maxpid > usage.rlimit!.curproc && usage.rlimit!.curproc > 10);
  });

  test('is processor time and memory only on request', async () => {
    const usage = (await podUsage('?only_cpu_and_memory=true'))!;
    assert.deepEqual(Object.keys(usage), ['podRef', 'startTime', 'containers', 'cpu', 'memory', 'swap']);
  });

  test('is on the page that metrics-server reads', async () => {
    const metrics = await page('/metrics/resource');
    const labels = { container: 'busy', namespace: 'default', pod: 'eater-test-node' };
    const of = (name: string) =>
      metrics.get(name)?.samples.find((sample) => JSON.stringify(sample.labels) === JSON.stringify(labels))?.value;
    assert.ok(of('container_cpu_usage_seconds_total')! > 0);
    assert.ok(of('container_memory_working_set_bytes')! > 0);
    assert.ok(Math.abs(of('container_start_time_seconds')! * 1000 - Date.parse(pod.status!.startTime!)) < 20_000);
    assert.equal(metrics.get('resource_scrape_error')?.samples[0]?.value, 0);
    assert.ok(metrics.get('node_cpu_usage_seconds_total')!.samples[0]!.value > 0);
  });

  test('is on the page of cadvisor, with the machine', async () => {
    const networkOf = (metrics: Map<string, Metric>) =>
      metrics.get('container_network_receive_bytes_total')?.samples.find(({ labels }) => labels['pod'] === 'eater-test-node');
    // The image of a sandbox is read five seconds after its start, and shown with the next sample.
    await waitUntil('the sandbox has its image', async () => !!networkOf(await page('/metrics/cadvisor'))?.labels['image'], 40_000);
    const metrics = await page('/metrics/cadvisor');
    const of = (name: string) => metrics.get(name)?.samples.filter(({ labels }) => labels['container'] === 'busy') ?? [];
    const [cpu] = of('container_cpu_usage_seconds_total');
    assert.deepEqual([cpu?.labels['image'], cpu?.labels['namespace'], cpu?.labels['cpu']], [busybox, 'default', 'total']);
    assert.ok(of('container_cpu_cfs_throttled_periods_total')[0]!.value > 0);
    assert.equal(of('container_spec_memory_limit_bytes')[0]?.value, 64 * MiB);
    assert.equal(of('container_spec_cpu_quota')[0]?.value, 20_000);
    assert.equal(networkOf(metrics)?.labels['interface'], 'eth0');
    assert.ok(of('container_file_descriptors')[0]!.value >= 3 && of('container_sockets').length === 1);
    assert.ok(metrics.get('machine_memory_bytes')!.samples[0]!.value > 100 * MiB);
    assert.deepEqual(
      [metrics.get('container_scrape_error')?.samples[0]?.value, metrics.get('machine_scrape_error')?.samples[0]?.value],
      [0, 0],
    );
  });

  test('has the filesystem of a container with CRI-O', async () => {
    const of = (metrics: Map<string, Metric>, name: string) =>
      metrics.get(name)?.samples.find(({ labels }) => labels['container'] === 'busy' && labels['pod'] === 'eater-test-node');
    // Its log has more than 100,000 lines.
    const isMeasured = (metrics: Map<string, Metric>) => (of(metrics, 'container_fs_usage_bytes')?.value ?? 0) > 100_000;
    const metrics = await waitUntil(
      'the filesystem is measured',
      async () => {
        const found = await page('/metrics/cadvisor');
        return isMeasured(found) ? found : undefined;
      },
      60_000,
    );
    const [usage, limit, inodes] = ['usage_bytes', 'limit_bytes', 'inodes_total'].map((name) => of(metrics, `container_fs_${name}`)!);
    const ofNode = metrics
      .get('container_fs_limit_bytes')!
      .samples.find(({ labels }) => labels['id'] === '/' && labels['device'] === limit!.labels['device']);
    assert.deepEqual([usage!.labels['device'], limit!.value], [limit!.labels['device'], ofNode?.value]);
    assert.ok(limit!.value > usage!.value && inodes!.value >= 1, JSON.stringify([usage, limit, inodes]));
  });

  test('has the kills by the kernel for lack of memory', async () => {
    await waitUntil(
      'the kill is counted',
      async () => {
        const samples = (await page('/metrics/cadvisor')).get('container_oom_events_total')?.samples;
        return samples?.some(({ labels, value }) => labels['pod'] === 'leaky-test-node' && labels['container'] === 'app' && value > 0);
      },
      30_000,
    );
    assert.match(node.log(), /The kernel ended a process for lack of memory.*processName="tail"/);
  });

  test('can be scraped strictly, as all pages of metrics', async () => {
    for (const path of ['/metrics', '/metrics/probes', '/metrics/slis']) assert.ok((await page(path)).size > 0, path);
  });

  test('of a pod that is gone disappears', async () => {
    const leaky = await node.untilRunning('leaky');
    node.delete('leaky');
    await node.untilGone('leaky');
    const isListed = async () => (await summary()).pods.some(({ podRef }) => podRef.uid === leaky.metadata.uid);
    await waitUntil('the pod is not measured', async () => !(await isListed()), 30_000);
    assert.ok(!(await (await node.get('/metrics/cadvisor')).text()).includes(leaky.metadata.uid));
  });

  test('has the containers with the first sample of a restarted kubelet, and those without a cgroup of the kubelet', async () => {
    await node.stopKubelet();
    // As a container that makes a cgroup below its own: the time of the directory changes.
    const own = cgroupOf('busy');
    mkdirSync(join(own, 'below'));
    rmdirSync(join(own, 'below'));
    await node.startKubelet({ configuration: { containerRuntimeEndpoint, cgroupsPerQOS: false, enforceNodeAllocatable: [] } });
    const first = await waitUntil('the pod is listed', () => podUsage().catch(() => undefined), 40_000);
    assert.deepEqual(startTimesOf(first), await createdAt());
    assert.ok(
      first.containers.every(({ cpu, memory }) => cpu.usageCoreNanoSeconds > 0 && memory.rssBytes > 0),
      JSON.stringify(first),
    );
    const listed = (await page('/metrics/resource'))
      .get('container_cpu_usage_seconds_total')!
      .samples.map(({ labels }) => labels['container']);
    assert.ok(listed.includes('busy') && listed.includes('large'), JSON.stringify(listed));
    const sh = 'x=$(head -c 20000000 /dev/zero | tr "\\0" x); sleep 10000 & wait; echo $x';
    node.apply(aManifest('outside', { containers: [aBusybox({ sh })], terminationGracePeriodSeconds: 0 }));
    await node.untilRunning('outside');
    const outside = await waitUntil(
      'the runtime is asked for the usage',
      async () => {
        const { pods } = await summary();
        const found = pods.find(({ podRef }) => podRef.name === 'outside-test-node')?.containers[0];
        return (found?.memory?.workingSetBytes ?? 0) > 20e6 ? found : undefined;
      },
      60_000,
    );
    assert.ok(outside.cpu.usageCoreNanoSeconds > 0 && outside.logs, JSON.stringify(outside));
  });
});
