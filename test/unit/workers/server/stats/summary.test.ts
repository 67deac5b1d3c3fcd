import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { groupUsage, pickContainers } from '../../../../../src/workers/server/stats/group-usage.ts';
import { parseTasks } from '../../../../../src/shared/linux/read-rlimit.ts';
import { textOf } from '../../../../../src/shared/metrics/exposition/text.ts';
import { logFamilies } from '../../../../../src/workers/server/stats/log-metrics.ts';
import { resourceFamilies } from '../../../../../src/workers/server/stats/resource-page.ts';
import { renderSummary } from '../../../../../src/workers/server/stats/summary.ts';
import { parsePrometheus } from '../../../../support/prometheus.ts';
import { unknownUsage } from '../../../../../src/shared/state/usage-table.ts';
import { table } from '../../../../support/table.ts';
import { aUsage } from '../../../../support/usage.ts';

const ofPod = { podUID: 'uid-1' as PodUID, podName: 'web', podNamespace: 'default' };
const busy = { cpuNanoCores: 5, memoryRssBytes: 300 };
const psi = { full: { total: 0, avg10: 0, avg60: 0, avg300: 0 }, some: { total: 0, avg10: 0, avg60: 0, avg300: 0 } };
const time = '2026-01-02T03:04:05Z';
const eth0 = { name: 'eth0', rxBytes: 1, rxPackets: 2, rxErrors: 3, rxDropped: 4, txBytes: 5, txPackets: 6, txErrors: 7, txDropped: 8 };

const rows = [
  aUsage({ kind: 'root' }, { ...busy, memoryLimitBytes: 8000, memorySwapLimitBytes: 0, cpuUsageNs: 9_000_000_000n }),
  aUsage({ kind: 'pods', path: '/kubepods' }, { memoryLimitBytes: Infinity, memorySwapLimitBytes: Infinity }),
  aUsage({ kind: 'kubelet', path: '/kubelet' }, { memoryLimitBytes: Infinity, memorySwapLimitBytes: Infinity }),
  aUsage({ kind: 'qos', path: '/kubepods' }),
  aUsage({ kind: 'pod', ...ofPod }, { ...busy, memoryLimitBytes: Infinity, memorySwapLimitBytes: Infinity }),
  aUsage({ kind: 'sandbox', ...ofPod }, { processes: 1, network: JSON.stringify([eth0, { ...eth0, name: 'net1' }]) }),
  aUsage(
    { kind: 'container', ...ofPod, containerName: 'app' },
    {
      ...busy,
      cpuUsageNs: 1_500_000_000n,
      memoryUsageBytes: 900,
      memoryWorkingSetBytes: 700,
      memoryLimitBytes: 1000,
      memorySwapLimitBytes: 50,
      swapBytes: 20,
      pageFaults: 11,
      majorPageFaults: 12,
      cpuSomeTotalUs: 77,
      cpuSomeAvg10: 1.5,
      processes: 3,
      logBytes: 40,
      logInodes: 2,
    },
  ),
];
const node = { nodeName: 'node-1', bootedAtMs: Date.UTC(2025, 11, 31), kubeletStartedAtMs: Date.UTC(2025, 11, 31, 1), hugePagesBytes: 0 };
const filesystem = {
  device: 1,
  readAtMs: Date.UTC(2026, 0, 2),
  capacityBytes: 900,
  availableBytes: 500,
  usedBytes: 350,
  inodes: 90,
  inodesFree: 80,
  inodesUsed: 10,
};
const unknown = { ...filesystem, capacityBytes: NaN, availableBytes: NaN, inodes: NaN, inodesFree: NaN };
const rest = {
  filesystems: { root: filesystem, image: unknown, container: undefined },
  storage: new Map(),
  rlimit: { maxPID: 32768, tasks: 120 },
  nowMs: Date.UTC(2026, 0, 2, 3, 4, 5),
};
const textOfSummary = (pieces: Iterable<string>) => Array.from(pieces).join('');
const summaryOf = (onlyCpuAndMemory: boolean) =>
  JSON.parse(textOfSummary(renderSummary(node, groupUsage(rows), { onlyCpuAndMemory, ...rest })));

test('huge pages of the node are not available memory, which is never negative', () => {
  const availableOf = (hugePagesBytes: number) =>
    JSON.parse(textOfSummary(renderSummary({ ...node, hugePagesBytes }, groupUsage(rows), { onlyCpuAndMemory: true, ...rest }))).node.memory
      .availableBytes as number;
  const available = availableOf(0);
  assert.deepEqual([availableOf(2 * 1024), availableOf(2 ** 30)], [available - 2 * 1024, 0]);
});

test('the summary has every field of a pod and a container', () => {
  const { pods } = summaryOf(false);
  assert.deepEqual(pods, [
    {
      podRef: { name: 'web', namespace: 'default', uid: 'uid-1' },
      startTime: '2026-01-01T00:00:00Z',
      containers: [
        {
          name: 'app',
          startTime: '2026-01-01T00:00:00Z',
          cpu: {
            time,
            usageNanoCores: 5,
            usageCoreNanoSeconds: 1_500_000_000,
            psi: { ...psi, some: { ...psi.some, total: 77, avg10: 1.5 } },
          },
          memory: {
            time,
            availableBytes: 300,
            usageBytes: 900,
            workingSetBytes: 700,
            rssBytes: 300,
            pageFaults: 11,
            majorPageFaults: 12,
            psi,
          },
          io: { time, psi },
          swap: { time, swapAvailableBytes: 30, swapUsageBytes: 20 },
          logs: { time, availableBytes: 500, capacityBytes: 900, usedBytes: 40, inodesFree: 80, inodes: 90, inodesUsed: 2 },
        },
      ],
      cpu: { time, usageNanoCores: 5, usageCoreNanoSeconds: 0, psi },
      memory: { time, usageBytes: 0, workingSetBytes: 0, rssBytes: 300, pageFaults: 0, majorPageFaults: 0, psi },
      io: { time, psi },
      swap: { time, swapUsageBytes: 0 },
      network: {
        time,
        name: 'eth0',
        rxBytes: 1,
        rxErrors: 3,
        txBytes: 5,
        txErrors: 7,
        interfaces: [
          { name: 'eth0', rxBytes: 1, rxErrors: 3, txBytes: 5, txErrors: 7 },
          { name: 'net1', rxBytes: 1, rxErrors: 3, txBytes: 5, txErrors: 7 },
        ],
      },
      'ephemeral-storage': { time, availableBytes: 500, capacityBytes: 900, usedBytes: 40, inodesFree: 80, inodes: 90, inodesUsed: 2 },
      process_stats: { process_count: 4 },
    },
  ]);
});

test('the summary of the node has its system containers and the time of its start', () => {
  const { node: found } = summaryOf(false);
  assert.deepEqual([found.nodeName, found.startTime, found.memory.availableBytes], ['node-1', '2025-12-31T00:00:00Z', 8000]);
  const system = (found.systemContainers as { name: string; startTime: string }[]).map(({ name, startTime }) => [name, startTime]);
  assert.deepEqual(system, [
    ['kubelet', '2025-12-31T01:00:00Z'],
    ['pods', '2026-01-01T00:00:00Z'],
  ]);
});

test('the summary of the node has its filesystems and its limit of tasks; unknown values are left out', () => {
  const { node: found } = summaryOf(false);
  const { readAtMs, device: _, ...values } = filesystem;
  assert.deepEqual(found.fs, { time: new Date(readAtMs).toISOString().replace('.000', ''), ...values });
  assert.deepEqual(found.runtime, { imageFs: { time: '2026-01-02T00:00:00Z', usedBytes: 350, inodesUsed: 10 } });
  assert.deepEqual(found.rlimit, { time, maxpid: 32768, curproc: 120 });
});

test('the number of tasks is the second one of /proc/loadavg', () => {
  assert.equal(parseTasks('1.36 3.49 4.53 2/3518 3715089\n'), 3518);
  assert.equal(parseTasks('nonsense'), undefined);
});

test('the short summary has processor and memory only', () => {
  const { node: found, pods } = summaryOf(true);
  assert.deepEqual(Object.keys(found), ['nodeName', 'systemContainers', 'startTime', 'cpu', 'memory', 'swap']);
  assert.deepEqual(Object.keys(pods[0]), ['podRef', 'startTime', 'containers', 'cpu', 'memory', 'swap']);
  assert.deepEqual(Object.keys(pods[0].containers[0]), ['name', 'startTime', 'cpu', 'memory', 'swap']);
});

const instance = (containerID: string, createdAtMs: number, values: { cpuNanoCores: number; memoryRssBytes: number }) =>
  aUsage({ kind: 'container', ...ofPod, containerName: 'app', containerID: containerID as never, createdAtMs }, values);

const pickContainersRows = [
  { name: 'one instance', rows: [instance('a', 1, busy)], want: ['a'] },
  { name: 'one that sleeps', rows: [instance('a', 1, { cpuNanoCores: 0, memoryRssBytes: 1 })], want: ['a'] },
  { name: 'one without any usage', rows: [instance('a', 1, { cpuNanoCores: 0, memoryRssBytes: 0 })], want: ['a'] },
  { name: 'one that was measured once', rows: [instance('a', 1, { cpuNanoCores: NaN, memoryRssBytes: 9 })], want: ['a'] },
  { name: 'two instances', rows: [instance('a', 1, busy), instance('b', 2, busy)], want: ['b'] },
  {
    name: 'a newer one that was measured once',
    rows: [instance('b', 2, { cpuNanoCores: NaN, memoryRssBytes: 0 }), instance('a', 1, busy)],
    want: ['b'],
  },
];
test('a container that was measured once is on the pages, without its rate', () => {
  const first = [rows[0]!, instance('a', Date.UTC(2026, 0, 1), { cpuNanoCores: NaN, memoryRssBytes: 9 })];
  const { pods } = JSON.parse(textOfSummary(renderSummary(node, groupUsage(first), { onlyCpuAndMemory: true, ...rest })));
  assert.deepEqual(Object.keys(pods[0].containers[0].cpu), ['time', 'usageCoreNanoSeconds', 'psi']);
  const page = parsePrometheus(textOf(resourceFamilies(groupUsage(first))));
  for (const name of ['container_cpu_usage_seconds_total', 'container_memory_working_set_bytes', 'container_start_time_seconds'])
    assert.equal(page.get(name)?.samples.length, 1, name);
});

test('a container whose usage nobody has measured has its start time and logs', () => {
  const unmeasured = [
    rows[0]!,
    aUsage({ kind: 'container', ...ofPod, path: '', containerName: 'app' }, { ...unknownUsage, logBytes: 40, logInodes: 2 }),
  ];
  const { pods } = JSON.parse(textOfSummary(renderSummary(node, groupUsage(unmeasured), { onlyCpuAndMemory: false, ...rest })));
  assert.deepEqual(Object.keys(pods[0].containers[0]), ['name', 'startTime', 'logs']);
  const page = parsePrometheus(textOf(resourceFamilies(groupUsage(unmeasured))));
  assert.equal(page.get('container_start_time_seconds')?.samples.length, 1);
  assert.equal(page.has('container_memory_working_set_bytes'), false);
});

test('a pod without a running container is not listed', () => {
  const withoutContainer = rows.filter(({ identity }) => identity.kind !== 'container');
  assert.deepEqual(groupUsage(withoutContainer).pods, []);
});

table('pickContainers', (row) => {
  for (const { name, rows: given, want } of pickContainersRows) {
    row(name, () =>
      assert.deepEqual(
        pickContainers(given).map(({ identity }) => identity.containerID),
        want,
      ),
    );
  }
});

test('the page for metrics-server is strictly correct', () => {
  const page = parsePrometheus(textOf(resourceFamilies(groupUsage(rows))));
  const labels = { container: 'app', namespace: 'default', pod: 'web' };
  const timestampMs = Date.UTC(2026, 0, 2, 3, 4, 5);
  assert.deepEqual(page.get('container_cpu_usage_seconds_total'), {
    type: 'counter',
    help: '[STABLE] Cumulative cpu time consumed by the container in core-seconds',
    samples: [{ labels, value: 1.5, timestampMs }],
  });
  assert.deepEqual(page.get('container_swap_limit_bytes')?.samples, [{ labels, value: 50, timestampMs }]);
  assert.deepEqual(page.get('container_start_time_seconds')?.samples, [
    { labels, value: Date.UTC(2026, 0, 1) / 1000, timestampMs: undefined },
  ]);
  assert.deepEqual(page.get('node_cpu_usage_seconds_total')?.samples, [{ labels: {}, value: 9, timestampMs }]);
  assert.deepEqual(page.get('resource_scrape_error')?.samples, [{ labels: {}, value: 0, timestampMs: undefined }]);
  assert.equal(page.size, 12);
});

test('the page for metrics-server has the newest of two pods of one name', () => {
  const pods = ['old', 'new'].flatMap((uid, index) => {
    const ofPod = { podUID: uid as PodUID, podName: 'web', podNamespace: 'default', createdAtMs: index + 1 };
    return [
      aUsage({ kind: 'pod', path: `/${uid}`, ...ofPod }, { memoryWorkingSetBytes: index }),
      aUsage({ kind: 'sandbox', path: `/${uid}/s`, ...ofPod }),
      aUsage({ kind: 'container', path: `/${uid}/c`, ...ofPod, containerName: 'app' }),
    ];
  });
  for (const each of [pods, pods.toReversed()]) {
    const page = parsePrometheus(textOf(resourceFamilies(groupUsage(each))));
    assert.deepEqual(
      page.get('pod_memory_working_set_bytes')?.samples.map(({ value }) => value),
      [1],
    );
  }
});

test('the bytes of logs are on the page of metrics', () => {
  const page = parsePrometheus(textOf(logFamilies(groupUsage(rows))));
  const [sample, ...others] = page.get('kubelet_container_log_filesystem_used_bytes')!.samples;
  assert.deepEqual(Object.keys(sample!.labels), ['container', 'namespace', 'pod', 'uid']);
  assert.equal(others.length, 0);
  assert.equal(textOf(logFamilies(groupUsage([]))), '');
});

test('the page for metrics-server reports a node that was not measured yet', () => {
  const page = parsePrometheus(textOf(resourceFamilies(groupUsage([]))));
  assert.equal(page.get('resource_scrape_error')?.samples[0]?.value, 1);
});
