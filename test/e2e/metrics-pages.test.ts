/** Every page of metrics on a node with hostile pods, read strictly, and compared with the Go kubelet's metrics of the same page. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../support/cleanups.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';
import { parsePrometheus, type Metric } from '../support/prometheus.ts';
import { decodeMetrics } from '../support/prometheus-protobuf.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';
import { upstreamMetrics } from '../support/upstream-metrics.ts';

const pages = ['/metrics', '/metrics/cadvisor', '/metrics/resource', '/metrics/probes', '/metrics/slis'];
/** What this host, whose cgroups are v1, and these pods do not have. */
const absent: Readonly<Record<string, RegExp>> = {
  // Recent kernels count the I/O of a cgroup of v1 only once it has a limit.
  '/metrics/cadvisor': /^container_(?:pressure_|fs_io_cost_|blkio_device_usage_total$|fs_(?:reads|writes)_bytes_total$)|^machine_dimm_/,
};

const protobufFormat = 'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited';

/** The folder of a pod's logs has the namespace, the name and the UID in its name, which has at most 255 bytes. */
const namespace = `n${'x'.repeat(62)}`;
const podName = 'p'.repeat(150 - '-test-node'.length);
const containerName = `c${'x'.repeat(62)}`;
/** The kernel accepts every byte but white space, `/` and `:` in the name of an interface. */
const interfaceName = 'e"\\0é{},';

function seriesOf(samples: readonly { readonly labels: Readonly<Record<string, string>> }[]): Set<string> {
  const names = samples.map(({ labels }) => Object.keys(labels).toSorted((a, b) => (a < b ? -1 : 1)));
  return new Set(
    samples.map(({ labels }, i) => JSON.stringify(names[i]!.filter((name) => name !== 'le').map((name) => [name, labels[name]]))),
  );
}

describe('the pages of metrics', () => {
  const hooks = new Cleanups();
  let node: TestNode;
  const pagesByPath = new Map<string, Map<string, Metric>>();
  const samplesOf = (path: string, name: string, container: string) =>
    pagesByPath
      .get(path)
      ?.get(name)
      ?.samples.filter(({ labels }) => labels['container'] === container) ?? [];

  const read = async (path: string): Promise<Map<string, Metric>> => {
    const reply = await node.get(path);
    assert.equal(reply.status, 200, path);
    assert.equal(reply.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores');
    return parsePrometheus(await reply.text());
  };
  const hasContainer = (page: Map<string, Metric>, pod: Pod) =>
    page.get('container_memory_rss')?.samples.some(({ labels }) => labels['pod'] === pod.metadata.name && labels['container'] !== '');

  before(async () => {
    node = await TestNode.start(hooks);
    await node.startKubelet();
    const readinessProbe = { exec: { command: ['true'] }, periodSeconds: 1 };
    node.apply(aManifest(podName, { containers: [aBusybox({ name: containerName, readinessProbe })] }, { namespace }));
    const rename = `ip link set eth0 down && ip link set eth0 name '${interfaceName}' && sleep 10000 & wait`;
    const securityContext = { capabilities: { add: ['NET_ADMIN'] } };
    node.apply(aManifest('renamer', { containers: [aBusybox({ sh: rename, securityContext })], terminationGracePeriodSeconds: 0 }));
    const listen = aBusybox({
      name: 'listener',
      sh: 'nc -l -p 80 & nc -l -p 81 & wait',
      resources: { limits: { cpu: '100m', memory: '64Mi' } },
    });
    node.apply(aManifest('listener', { containers: [listen], terminationGracePeriodSeconds: 0 }));
    const pods = await Promise.all([podName, 'renamer', 'listener'].map((name) => node.untilRunning(name)));
    // Requests whose method and path get into labels.
    for (const path of ['/%22%5c%0a', '/metrics/%22', '/pods/"\\']) await (await node.get(path)).text();
    await waitUntil(
      'all containers are measured',
      async () => {
        const page = await read('/metrics/cadvisor');
        return pods.every((pod) => hasContainer(page, pod)) && page.has('container_fs_usage_bytes');
      },
      40_000,
    );
    // The second sample of a container has its usage on the page for metrics-server.
    await waitUntil(
      'each pod has a usage',
      async () =>
        (await read('/metrics/resource'))
          .get('container_cpu_usage_seconds_total')
          ?.samples.some(({ labels }) => labels['container'] === containerName),
      40_000,
    );
    for (const path of pages) pagesByPath.set(path, await read(path));
  });
  after(() => hooks.run());

  for (const path of pages) {
    test(`${path} has upstream’s types and labels`, () => {
      const ofPage = new Map(upstreamMetrics.filter(({ page }) => page === path).map((metric) => [metric.name, metric]));
      for (const [name, { type, samples, help }] of pagesByPath.get(path)!) {
        const upstream = ofPage.get(name);
        if (!upstream) {
          assert.match(name, /^kubelet_/, `${name} is not upstream’s`);
          continue;
        }
        const labels = new Set(samples.flatMap((sample) => Object.keys(sample.labels)));
        labels.delete('le');
        assert.deepEqual([type, [...labels].sort()], [upstream.type, upstream.labels], name);
        assert.equal(/^\[(ALPHA|BETA|STABLE|INTERNAL)\]/.exec(help)?.[1] ?? 'none', upstream.stability, name);
      }
    });
  }

  test('each page has the same series in the protobuf format, with native histograms', async () => {
    for (const path of pages) {
      const reply = await node.get(path, { accept: `${protobufFormat};q=0.6,text/plain;version=0.0.4;q=0.2` });
      assert.equal(reply.headers.get('content-type'), `${protobufFormat.replaceAll(';', '; ')}; escaping=underscores`);
      const decoded = decodeMetrics(new Uint8Array(await reply.arrayBuffer()));
      for (const [name, { type, help, samples }] of pagesByPath.get(path)!) {
        const metric = decoded.get(name);
        assert.ok(metric, name);
        assert.deepEqual([metric.type, metric.help], [type, help.replaceAll(String.raw`\n`, '\n')], name);
        const decodedSeries = seriesOf(metric.samples);
        for (const series of seriesOf(samples)) assert.ok(decodedSeries.has(series), `${name} ${series}`);
        for (const { count, native, createdAtMs } of metric.samples) {
          if (type !== 'histogram') continue;
          assert.ok(native, `${name} is not native`);
          const total = [native.positive, native.negative].flatMap((each) => [...each.values()]).reduce((sum, each) => sum + each, 0);
          assert.deepEqual([native.zeroCount + total, native.zeroThreshold], [count, 2 ** -128], name);
          assert.ok(count === 0 || createdAtMs! > Date.now() - 600_000, name);
        }
      }
    }
  });

  test('the pages about usage have every metric of upstream', () => {
    for (const path of ['/metrics/cadvisor', '/metrics/resource', '/metrics/probes', '/metrics/slis']) {
      const missing = upstreamMetrics.filter(({ page, name }) => page === path && !pagesByPath.get(path)!.has(name));
      assert.deepEqual(
        missing.map(({ name }) => name).filter((name) => !absent[path]?.test(name)),
        [],
      );
    }
  });

  test('a pod whose names have the greatest length has its series', () => {
    const name = `${podName}-test-node`;
    const [cpu] = samplesOf('/metrics/cadvisor', 'container_cpu_usage_seconds_total', containerName);
    assert.deepEqual([cpu?.labels['namespace'], cpu?.labels['pod']], [namespace, name]);
    const [memory] = samplesOf('/metrics/resource', 'container_memory_working_set_bytes', containerName);
    assert.deepEqual(memory?.labels, { container: containerName, namespace, pod: name });
    const [log] = samplesOf('/metrics', 'kubelet_container_log_filesystem_used_bytes', containerName);
    assert.deepEqual([log?.labels['namespace'], log?.labels['pod']], [namespace, name]);
    const [probe] = samplesOf('/metrics/probes', 'prober_probe_total', containerName);
    assert.deepEqual([probe?.labels['result'], probe?.labels['pod']], ['successful', name]);
  });

  test('the name of a network interface that a container chose is one label', () => {
    const received = pagesByPath.get('/metrics/cadvisor')!.get('container_network_receive_bytes_total')!.samples;
    const names = received.filter(({ labels }) => labels['pod'] === 'renamer-test-node').map(({ labels }) => labels['interface']);
    // The kernel's bytes are shown one by one, as Latin-1.
    assert.deepEqual(names, [Buffer.from(interfaceName).toString('latin1')]);
  });

  test('a container has its open files, its sockets and their limit', () => {
    const value = (name: string) => samplesOf('/metrics/cadvisor', name, 'listener')[0]?.value;
    assert.ok(value('container_sockets')! >= 2, `${value('container_sockets')} sockets`);
    assert.ok(value('container_file_descriptors')! > value('container_sockets')!);
    assert.ok(value('container_ulimits_soft')! > 100);
  });

  test('the root cgroup has the filesystems of the node', () => {
    const usage = pagesByPath.get('/metrics/cadvisor')!.get('container_fs_usage_bytes')!.samples;
    assert.ok(usage.length > 0 && usage.every(({ labels }) => labels['id'] === '/'));
    assert.ok(
      usage.some(({ labels, value }) => labels['device']!.startsWith('/dev/') && value > 0),
      JSON.stringify(usage[0]),
    );
  });
});
