/** The gate PodAndContainerStatsFromCRI on real runtimes: one that has its own metrics of containers, and one that only has stats. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { containerd23 } from '../../lab/containerd/installations/containerd-2.3.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../support/cleanups.ts';
import { aBusybox, aManifest, TestNode, type TestNodeOptions } from '../support/kubelet/test-node.ts';
import { parsePrometheus, type Metric } from '../support/prometheus.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const MiB = 1024 * 1024;

interface PodUsage {
  readonly podRef: { readonly uid: string };
  readonly cpu?: { readonly usageNanoCores: number; readonly usageCoreNanoSeconds: number };
  readonly memory?: { readonly workingSetBytes: number };
  readonly network?: { readonly name: string; readonly rxBytes: number };
  readonly process_stats?: { readonly process_count: number };
  readonly containers: readonly {
    readonly name: string;
    readonly cpu: { readonly usageNanoCores: number };
    readonly memory: { readonly availableBytes: number; readonly workingSetBytes: number; readonly rssBytes: number };
  }[];
}

/** A node with the gate and a busy pod. */
function aNode(containerd: NonNullable<TestNodeOptions['containerd']>) {
  const hooks = new Cleanups();
  let node: TestNode;
  let pod: Pod;
  const usage = async () => {
    const reply = await node.get('/stats/summary');
    if (reply.status !== 200) return undefined;
    return ((await reply.json()) as { pods: PodUsage[] }).pods.find(({ podRef }) => podRef.uid === pod.metadata.uid);
  };
  const page = async (path: string): Promise<Map<string, Metric>> => parsePrometheus(await (await node.get(path)).text());
  const operations = async () => (await page('/metrics')).get('kubelet_runtime_operations_total')!.samples;
  before(async () => {
    node = await TestNode.start(hooks, { containerd, config: { featureGates: { PodAndContainerStatsFromCRI: true } } });
    await node.startKubelet();
    // The variable is 20 MB of anonymous memory.
    const sh = 'x=$(head -c 20000000 /dev/zero | tr "\\0" x); while :; do :; done; echo $x';
    const limits = { cpu: '100m', memory: '64Mi' };
    node.apply(aManifest('busy', { containers: [aBusybox({ sh, resources: { limits } })], terminationGracePeriodSeconds: 0 }));
    pod = await node.untilRunning('busy');
    await waitUntil(
      'the runtime was asked',
      async () => (await operations()).some(({ labels, value }) => labels['operation_type'] === 'list_podsandbox_stats' && value >= 2),
      60_000,
    );
    const isMeasured = ({ containers: [app] }: PodUsage) => app !== undefined && app.cpu.usageNanoCores > 0 && app.memory.rssBytes > 20e6;
    await waitUntil(
      'the pod is measured',
      async () => {
        const found = await usage();
        return found !== undefined && isMeasured(found);
      },
      60_000,
    );
  });
  after(() => hooks.run());
  return { usage, page };
}

function checkSummary(usage: PodUsage): void {
  const [app] = usage.containers;
  assert.equal(app?.name, 'app');
  assert.ok(app.cpu.usageNanoCores > 1e6 && app.cpu.usageNanoCores < 200e6, `${app.cpu.usageNanoCores} nano cores with a limit of 100m`);
  assert.ok(app.memory.rssBytes > 20e6 && app.memory.rssBytes < 64 * MiB, `${app.memory.rssBytes} bytes`);
  assert.equal(app.memory.availableBytes, 64 * MiB - app.memory.workingSetBytes);
  assert.ok(usage.cpu!.usageCoreNanoSeconds > 0 && usage.memory!.workingSetBytes >= app.memory.workingSetBytes * 0.9);
  assert.equal(usage.network?.name, 'eth0');
  assert.ok(usage.process_stats!.process_count >= 2);
}

describe('stats from containerd 2.3', () => {
  const { usage, page } = aNode(containerd23);

  test('are in the summary', async () => checkSummary((await usage())!));

  test('are on the page for metrics-server', async () => {
    const samples = (await page('/metrics/resource')).get('container_memory_working_set_bytes')?.samples;
    assert.ok(
      samples!.some(({ labels, value }) => labels['container'] === 'app' && value > 20e6),
      JSON.stringify(samples),
    );
  });

  test('replace cadvisor’s, beside the machine', async () => {
    const metrics = await page('/metrics/cadvisor');
    const cpu = metrics.get('container_cpu_usage_seconds_total');
    assert.match(cpu!.help, /^\[INTERNAL\] /);
    assert.ok(cpu!.samples.some(({ value }) => value > 0));
    assert.ok(metrics.get('machine_memory_bytes')!.samples[0]!.value > 100 * MiB);
    assert.equal(metrics.has('container_scrape_error'), false);
    const provider = (await page('/metrics')).get('kubelet_metrics_provider');
    assert.deepEqual(
      provider?.samples.map(({ labels }) => labels['provider']),
      ['cri'],
    );
  });
});

describe('stats from containerd 1.7', () => {
  const { usage, page } = aNode('1.7');

  test('are in the summary as those of containerd 2.3', async () => checkSummary((await usage())!));

  test('leave the metrics that the runtime does not have to the cgroups', async () => {
    const metrics = await page('/metrics/cadvisor');
    const rss = metrics.get('container_memory_rss');
    assert.doesNotMatch(rss!.help, /INTERNAL/);
    assert.ok(rss!.samples.some(({ labels, value }) => labels['container'] === 'app' && value > 20e6));
    assert.equal(metrics.get('container_scrape_error')?.samples[0]?.value, 0);
  });
});
