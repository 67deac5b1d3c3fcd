import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ContainerID, PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { textOf } from '../../../../../src/shared/metrics/exposition/text.ts';
import { cadvisorFamilies } from '../../../../../src/workers/server/stats/cadvisor-page.ts';
import { parsePrometheus } from '../../../../support/prometheus.ts';
import { aNodeFilesystem, aUsage } from '../../../../support/usage.ts';

const ofPod = { podUID: 'uid-1' as PodUID, podName: 'web', podNamespace: 'default' };
const eth0 = { name: 'eth0', rxBytes: 1, rxPackets: 2, rxErrors: 3, rxDropped: 4, txBytes: 5, txPackets: 6, txErrors: 7, txDropped: 8 };
const machine = {
  numCores: 4,
  numPhysicalCores: 2,
  numSockets: 1,
  memoryBytes: 8192,
  swapBytes: 0,
  hugePagesBytes: 0,
  machineID: 'm',
  systemUUID: 's',
  bootID: 'b',
  kernelVersion: '6.18',
  osImage: 'Debian "12"',
};
const filesystems = [
  {
    device: '/dev/sda1',
    deviceNumber: 2049,
    capacityBytes: 100,
    usedBytes: 60,
    inodes: 10,
    inodesFree: 4,
    reads: 1,
    readsMerged: 2,
    sectorsRead: 3,
    readMs: 4500,
    writes: 5,
    writesMerged: 6,
    sectorsWritten: 7,
    writeMs: 8,
    ioInProgress: 9,
    ioMs: 10,
    weightedIoMs: 11,
  },
];
const rows = [
  aUsage({ kind: 'root' }, { cpuUsageNs: 5n }),
  aUsage({ kind: 'pods', path: '/kubepods' }),
  aUsage({ kind: 'qos', path: '/kubepods' }),
  aUsage({ kind: 'kubelet', path: '/system/kubelet' }),
  aUsage({ kind: 'pod', path: '/kubepods/pod1', ...ofPod }),
  aUsage(
    { kind: 'sandbox', path: '/kubepods/pod1/s', containerID: 's' as ContainerID, ...ofPod },
    { network: JSON.stringify([eth0, { ...eth0, name: 'bad"name\n' }]) },
  ),
  aUsage(
    { kind: 'container', path: '/kubepods/pod1/c', containerID: 'c' as ContainerID, containerName: 'app', image: 'busybox:1', ...ofPod },
    {
      cpuUsageNs: 2_500_000_000n,
      cpuQuotaUs: 20_000,
      cfsThrottledNs: 1_000_000_000,
      memoryLimitBytes: Infinity,
      io: '[{"device":"8:0","bytes":{"Read":4096,"Write":1},"operations":{"Read":2}}]',
      cpuSomeTotalUs: 3_000_000,
      fileDescriptors: 9,
      sockets: 3,
      maxOpenFiles: -1,
    },
  ),
];
const pageOf = (hasPressure: boolean) =>
  parsePrometheus(
    textOf(cadvisorFamilies({ rows, machine, filesystems, nowMs: 5000, hasPressure, deviceName: (device) => `/dev/disk-${device}` })),
  );
const container = { container: 'app', id: '/kubepods/pod1/c', image: 'busybox:1', name: 'c', namespace: 'default', pod: 'web' };
const sampledAtMs = Date.UTC(2026, 0, 2, 3, 4, 5);

test('the page of cgroups is strictly correct, and has each cgroup once', () => {
  const page = pageOf(false);
  const ids = page.get('container_memory_rss')?.samples.map(({ labels }) => labels['id']);
  assert.deepEqual(ids, ['/', '/kubepods', '/kubepods/pod1', '/kubepods/pod1/c', '/kubepods/pod1/s', '/system/kubelet']);
  assert.equal(page.has('container_pressure_cpu_waiting_seconds_total'), false);
});

test('a container has its labels, its limits without and its values with a timestamp', () => {
  const page = pageOf(true);
  const of = (name: string) => page.get(name)?.samples.filter(({ labels }) => labels['id'] === container.id);
  assert.deepEqual(of('container_cpu_usage_seconds_total'), [
    { labels: { ...container, cpu: 'total' }, value: 2.5, timestampMs: sampledAtMs },
  ]);
  assert.deepEqual(of('container_cpu_cfs_throttled_seconds_total'), [{ labels: container, value: 1, timestampMs: sampledAtMs }]);
  assert.deepEqual(of('container_spec_cpu_quota'), [{ labels: container, value: 20_000, timestampMs: undefined }]);
  assert.deepEqual(of('container_spec_memory_limit_bytes'), [{ labels: container, value: 0, timestampMs: undefined }]);
  assert.deepEqual(of('container_fs_reads_bytes_total'), [
    { labels: { ...container, device: '/dev/disk-8:0' }, value: 4096, timestampMs: sampledAtMs },
  ]);
  assert.deepEqual(of('container_pressure_cpu_waiting_seconds_total'), [{ labels: container, value: 3, timestampMs: sampledAtMs }]);
  assert.equal(of('container_memory_failures_total')?.length, 4);
  assert.deepEqual(
    page.get('container_cpu_cfs_periods_total')?.samples.map(({ labels }) => labels['id']),
    [container.id],
  );
});

test('the root cgroup has the filesystems of the node with the I/O of their devices', () => {
  const page = pageOf(false);
  const values = (name: string) => page.get(name)?.samples.map(({ labels, value }) => [labels['id'], labels['device'], value]);
  assert.deepEqual(values('container_fs_usage_bytes'), [['/', '/dev/sda1', 60]]);
  assert.deepEqual(values('container_fs_limit_bytes'), [['/', '/dev/sda1', 100]]);
  assert.deepEqual(values('container_fs_inodes_free'), [['/', '/dev/sda1', 4]]);
  assert.deepEqual(values('container_fs_read_seconds_total'), [['/', '/dev/sda1', 4.5]]);
  assert.deepEqual(values('container_fs_reads_total'), [
    ['/', '/dev/sda1', 1],
    ['/kubepods/pod1/c', '/dev/disk-8:0', 2],
  ]);
});

test('a container has a filesystem where the runtime is CRI-O', () => {
  const layerOf = ({ identity }: { identity: { containerName: string } }) =>
    identity.containerName === 'app' ? aNodeFilesystem({ usedBytes: 7 }) : undefined;
  const options = { machine, filesystems, layerOf, nowMs: 5000, hasPressure: false, deviceName: () => '/dev/sda1' };
  const page = parsePrometheus(textOf(cadvisorFamilies({ rows, ...options })));
  const values = (name: string) => page.get(name)?.samples.map(({ labels, value }) => [labels['id'], labels['device'], value]);
  assert.deepEqual(values('container_fs_usage_bytes'), [
    ['/', '/dev/sda1', 60],
    ['/kubepods/pod1/c', '/dev/sda1', 7],
  ]);
  // What the cgroup has read of the device counts.
  assert.deepEqual(values('container_fs_reads_total'), [
    ['/', '/dev/sda1', 1],
    ['/kubepods/pod1/c', '/dev/sda1', 2],
  ]);
});

test('a cgroup whose creation time is not known has no series of it', () => {
  const options = { machine, filesystems, nowMs: 5000, hasPressure: false, deviceName: () => '' };
  const page = parsePrometheus(textOf(cadvisorFamilies({ rows: [aUsage({ createdAtMs: 0 })], ...options })));
  assert.deepEqual([page.get('container_start_time_seconds'), page.get('container_creation_time_seconds')], [undefined, undefined]);
});

test('two devices of one name have one series', () => {
  const io = '[{"device":"8:0","bytes":{"Read":1},"operations":{}},{"device":"8:1","bytes":{"Read":2},"operations":{}}]';
  const row = aUsage({ kind: 'root' }, { io });
  const options = { rows: [row], machine, filesystems, nowMs: 5000, hasPressure: false, deviceName: () => '' };
  const page = parsePrometheus(textOf(cadvisorFamilies(options)));
  assert.deepEqual(
    page.get('container_fs_reads_bytes_total')?.samples.map(({ value }) => value),
    [1],
  );
  assert.equal(page.get('container_blkio_device_usage_total')?.samples.length, 2);
});

test('the processes of a container have open files and a limit of them, those of a pod have no limit', () => {
  const page = pageOf(false);
  const of = (name: string) =>
    page
      .get(name)
      ?.samples.filter(({ labels }) => labels['pod'] === 'web')
      .map(({ labels, value }) => [labels['id'], value]);
  assert.deepEqual(of('container_sockets'), [
    ['/kubepods/pod1', 0],
    ['/kubepods/pod1/c', 3],
    ['/kubepods/pod1/s', 0],
  ]);
  assert.deepEqual(of('container_ulimits_soft'), [
    ['/kubepods/pod1/c', -1],
    ['/kubepods/pod1/s', 0],
  ]);
  assert.equal(of('container_health_state')?.[0]?.[1], -1);
});

test('a sandbox has the network of its pod', () => {
  const { labels, value } = pageOf(false).get('container_network_transmit_errors_total')!.samples[1]!;
  assert.deepEqual([labels['interface'], labels['pod'], labels['container'], value], ['bad"name\n', 'web', '', 7]);
});

test('the machine has its identity as labels', () => {
  const page = pageOf(false);
  const labels = { boot_id: 'b', machine_id: 'm', system_uuid: 's' };
  assert.deepEqual(page.get('machine_cpu_physical_cores')?.samples, [{ labels, value: 2, timestampMs: undefined }]);
  assert.equal(page.get('cadvisor_version_info')?.samples[0]?.labels['osVersion'], 'Debian "12"');
  assert.equal(page.get('container_scrape_error')?.samples[0]?.value, 0);
});

test('a node that was not measured yet has an error for each part', () => {
  const empty = { rows: [], machine: undefined, filesystems: [], nowMs: 1, hasPressure: false, deviceName: () => '' };
  const page = parsePrometheus(textOf(cadvisorFamilies(empty)));
  assert.equal(page.get('container_scrape_error')?.samples[0]?.value, 1);
  assert.equal(page.get('machine_scrape_error')?.samples[0]?.value, 1);
});
