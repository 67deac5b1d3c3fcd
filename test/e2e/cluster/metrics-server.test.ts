/** metrics-server, `kubectl top` and a HorizontalPodAutoscaler on the usage that the kubelet serves. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { Cleanups } from '../../support/cleanups.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { privateCluster } from '../../support/cluster/control-plane.ts';
import { aggregationFlags, startMetricsServer, type UsageMetrics } from '../../support/cluster/metrics-server.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const MiB = 1024 * 1024;
/** What the shell of the container `holder` has in a variable. */
const heldBytes = 40_000_000;

/** The cells of each line of a table of kubectl without its heading. */
const rowsOf = (output: string) =>
  output
    .trimEnd()
    .split('\n')
    .slice(1)
    .map((line) => line.trim().split(/\s+/));
/** `123m` or `123456789n` in cores. */
const toCores = (text: string) =>
  Number.parseInt(text, 10) / (text.endsWith('n') ? 1e9 : text.endsWith('u') ? 1e6 : text.endsWith('m') ? 1e3 : 1);
/** `12Mi` or `1234Ki` in bytes. */
const toBytes = (text: string) => Number.parseInt(text, 10) * (text.endsWith('Mi') ? MiB : text.endsWith('Ki') ? 1024 : 1);

describe('metrics-server', () => {
  const hooks = new Cleanups();
  let node: TestClusterNode;
  /** The processor time of the container `burner`, each half second. */
  const samples: { readonly atMs: number; readonly usageNs: number }[] = [];
  let timer: NodeJS.Timeout | undefined;

  before(async () => {
    const cluster = await privateCluster(hooks, {
      apiServerFlags: aggregationFlags(hooks),
      controllerManagerFlags: ['--horizontal-pod-autoscaler-sync-period=3s', '--horizontal-pod-autoscaler-initial-readiness-delay=5s'],
    });
    node = await TestClusterNode.start('metrics-node', { cluster });
    hooks.after(() => node.destroy());
    const burner = aBusybox({ name: 'burner', sh: 'while :; do :; done', resources: { limits: { cpu: '100m', memory: '32Mi' } } });
    const holder = aBusybox({
      name: 'holder',
      sh: `x=$(head -c ${heldBytes} /dev/zero | tr "\\0" x); sleep 10000 & wait; echo $x`,
      resources: { limits: { cpu: '500m', memory: '128Mi' } },
    });
    await node.create('worker', { containers: [burner, holder], terminationGracePeriodSeconds: 0 });
    const { metadata, status } = await node.untilRunning('worker');
    const id = status!.containerStatuses!.find(({ name }) => name === 'burner')!.containerID!.split('//')[1]!;
    const [usageFile = ''] = globSync(`/sys/fs/cgroup/cpuacct/${node.node.cgroupRoot}/kubepods/**/pod${metadata.uid}/${id}/cpuacct.usage`);
    timer = setInterval(() => samples.push({ atMs: Date.now(), usageNs: Number(readFileSync(usageFile, 'utf8')) }), 500);
    await startMetricsServer(hooks, cluster);
  });
  after(async () => {
    clearInterval(timer);
    await hooks.run();
  });

  const podMetrics = () =>
    node.api.get<UsageMetrics>(`/apis/metrics.k8s.io/v1beta1/namespaces/${node.namespace}/pods/worker`).catch(() => undefined);

  /** The cores that the burner used in the window, by the kernel's own counter. */
  const coresIn = (startMs: number, endMs: number): number => {
    const at = (ms: number) => samples.reduce((best, each) => (Math.abs(each.atMs - ms) < Math.abs(best.atMs - ms) ? each : best));
    const [start, end] = [at(startMs), at(endMs)];
    return (end.usageNs - start.usageNs) / 1e6 / (end.atMs - start.atMs);
  };

  test('has the processor time that the kernel counts, and the memory that a container holds', async () => {
    // The window of the first metrics may begin before the samples.
    const metrics = await waitUntil(
      'there are metrics of a window with samples',
      async () => {
        const found = await podMetrics();
        const startMs = found ? Date.parse(found.timestamp) - Number.parseFloat(found.window) * 1000 : 0;
        return startMs > (samples[0]?.atMs ?? Infinity) ? found : undefined;
      },
      90_000,
    );
    await sleep(1000);
    const usage = new Map(metrics.containers!.map((container) => [container.name, container.usage]));
    const endMs = Date.parse(metrics.timestamp);
    const want = coresIn(endMs - Number.parseFloat(metrics.window) * 1000, endMs);
    const cores = toCores(usage.get('burner')!.cpu);
    // The timestamp is in whole seconds, of a window of ten to fifteen.
    assert.ok(Math.abs(cores - want) < want * 0.15 + 0.005, `${cores} cores, and ${want} by the kernel's counter`);
    assert.ok(cores < 0.12, `${cores} cores with a limit of 0.1`);
    const bytes = toBytes(usage.get('holder')!.memory);
    assert.ok(bytes > heldBytes && bytes < heldBytes + 30 * MiB, `${bytes} bytes, and ${heldBytes} in a variable`);
  });

  test('lets kubectl top show the containers of a pod', async () => {
    const rows = await waitUntil(
      'the pod is shown',
      async () => {
        const { code, stdout } = await node.cluster.runKubectl([
          '-n',
          node.namespace,
          'top',
          'pod',
          'worker',
          '--containers',
          '--no-headers=false',
        ]);
        return code === 0 ? rowsOf(stdout) : undefined;
      },
      60_000,
    );
    assert.deepEqual(
      rows.map(([pod, container]) => [pod, container]),
      [
        ['worker', 'burner'],
        ['worker', 'holder'],
      ],
    );
    const [burner, holder] = rows;
    assert.ok(toCores(burner![2]!) > 0 && toCores(burner![2]!) < 0.12, burner!.join(' '));
    assert.ok(toBytes(holder![3]!) >= 38 * MiB && toBytes(holder![3]!) < 70 * MiB, holder!.join(' '));
  });

  test('lets kubectl top show the node as its summary has it', async () => {
    const [row] = rowsOf(await node.cluster.kubectl('top', 'node', node.nodeName));
    const [name, cores = '', , memory = '', percent = ''] = row!;
    const summary = await node.api.get<{ node: { memory: { workingSetBytes: number } } }>(`${node.nodePath}/proxy/stats/summary`);
    const { workingSetBytes } = summary.node.memory;
    assert.equal(name, node.nodeName);
    assert.ok(toCores(cores) > 0, row!.join(' '));
    assert.ok(
      Math.abs(toBytes(memory) - workingSetBytes) < workingSetBytes * 0.3,
      `${memory}, and ${workingSetBytes} bytes in the summary`,
    );
    assert.match(percent, /^\d+%$/);
  });

  test('lets an autoscaler start replicas of a busy deployment', async () => {
    const spin = aBusybox({ sh: 'while :; do :; done', resources: { requests: { cpu: '20m' }, limits: { cpu: '60m' } } });
    const labels = { app: 'spinner' };
    await node.api.create(`/apis/apps/v1/namespaces/${node.namespace}/deployments`, {
      metadata: { name: 'spinner' },
      spec: {
        replicas: 1,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [spin], terminationGracePeriodSeconds: 0 } },
      },
    });
    await node.kubectl('autoscale', 'deployment', 'spinner', '--cpu=50%', '--min=1', '--max=3');
    const deployment = await waitUntil(
      'the deployment has three ready replicas',
      async () => {
        const path = `/apis/apps/v1/namespaces/${node.namespace}/deployments/spinner`;
        const found = await node.api.get<{ status?: { readyReplicas?: number } }>(path);
        return found.status?.readyReplicas === 3 ? found : undefined;
      },
      180_000,
    ).catch(async (err: unknown) => {
      throw new Error(`${String(err)}\n${await node.kubectl('describe', 'hpa', 'spinner')}`, { cause: err });
    });
    assert.equal(deployment.status?.readyReplicas, 3);
    const { involvedObject } = await node.untilEvent(
      'spinner',
      'SuccessfulRescale',
      /cpu resource utilization \(percentage of request\) above target/,
    );
    assert.equal(involvedObject.kind, 'HorizontalPodAutoscaler');
  });
});
