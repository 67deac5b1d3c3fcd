/**
 * The metrics of /metrics/cadvisor about cgroups: names, types, help texts and values as cadvisor has them (lib v0.60, metrics/prometheus.go), for the groups that
 * the kubelet enables. Pure.
 */
import type { NodeFilesystem } from '../../../shared/state/node-filesystem-table.ts';
import type { CgroupUsage, DeviceIo, InterfaceUsage, UsageValues } from '../../../shared/state/usage-table.ts';
import { extraLabels, type ExtraLabels } from './cadvisor-labels.ts';

export interface MetricValue {
  readonly value: number;
  /** The labels beside the common ones. */
  readonly labels?: ExtraLabels;
}

interface MetricHead {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** cAdvisor gives no timestamp to what it knows of a container without a sample: limits, and the times of its creation and start. */
  readonly hasNoTimestamp?: true;
}
/** A metric with at most one value for each cgroup. `readOne` returns undefined, or NaN, for no value. */
interface SingleMetric extends MetricHead {
  readonly readOne: (usage: CgroupUsage) => number | undefined;
}
interface LabelledMetric extends MetricHead {
  readonly read: (usage: CgroupUsage, parsed: ParsedUsage) => readonly MetricValue[];
}
export type CgroupMetric = SingleMetric | LabelledMetric;

/** The parts of a row that are stored as JSON. */
export interface ParsedUsage {
  readonly io: readonly Labelled<DeviceIo & { readonly deviceName: string }>[];
  readonly network: readonly Labelled<InterfaceUsage>[];
  /** Only the root cgroup has filesystems; with CRI-O, containers have one, too. */
  readonly filesystems: readonly Labelled<NodeFilesystem>[];
}
type Labelled<T> = T & { readonly labels: ExtraLabels };

const nsPerSecond = 1e9;
const usPerSecond = 1e6;
const msPerSecond = 1e3;
type NumberField = { [K in keyof UsageValues]: UsageValues[K] extends number ? K : never }[keyof UsageValues];

function field(name: string, type: MetricHead['type'], help: string, key: NumberField, divisor = 1): CgroupMetric {
  return { name, type, help, readOne: ({ values }) => values[key] / divisor };
}
/** A metric of CFS throttling. Only cgroups with a CPU quota have it. */
function cfs(name: string, help: string, key: NumberField, divisor = 1): CgroupMetric {
  return { name, type: 'counter', help, readOne: ({ values }) => (values.cpuQuotaUs === 0 ? undefined : values[key] / divisor) };
}
/** A metric of a limit. The value is 0 without a limit. */
function limit(name: string, help: string, key: NumberField): CgroupMetric {
  const readOne = ({ values }: CgroupUsage) => (Number.isFinite(values[key]) ? values[key] : 0);
  return { name, type: 'gauge', help, hasNoTimestamp: true, readOne };
}
type IoTable = 'bytes' | 'operations';
/** A metric of the cgroup's I/O on each device. With `filesystemKey` the root cgroup also shows this counter of the node's filesystems. */
function io(name: string, help: string, table: IoTable, operation: 'Read' | 'Write', filesystemKey?: keyof NodeFilesystem): CgroupMetric {
  return {
    name,
    type: 'counter',
    help,
    read: (_, { io: devices, filesystems }) => [
      ...devices.map((each) => ({ value: each[table][operation] ?? 0, labels: each.labels })),
      ...(filesystemKey ? filesystemValues(filesystems, filesystemKey) : []),
    ],
  };
}
function filesystemValues(filesystems: ParsedUsage['filesystems'], key: keyof NodeFilesystem, divisor = 1): MetricValue[] {
  return filesystems.map((each) => ({ value: Number(each[key]) / divisor, labels: each.labels }));
}
function filesystem(name: string, type: MetricHead['type'], help: string, key: keyof NodeFilesystem, divisor = 1): CgroupMetric {
  return { name: `container_fs_${name}`, type, help, read: (_, { filesystems }) => filesystemValues(filesystems, key, divisor) };
}
/** A metric of the kernel's I/O cost model (io.cost). Only devices with this model have it. */
function ioCost(name: 'usage' | 'wait' | 'indebt' | 'indelay', help: string): CgroupMetric {
  return {
    name: `container_fs_io_cost_${name}_seconds_total`,
    type: 'counter',
    help: `Cumulative IOCost ${help} in seconds`,
    read: (_, { io: devices }) =>
      devices.flatMap(({ labels, costUs }) => (costUs?.[name] === undefined ? [] : [{ value: costUs[name] / usPerSecond, labels }])),
  };
}
function network(name: string, help: string, key: Exclude<keyof InterfaceUsage, 'name'>): CgroupMetric {
  const read = (_: CgroupUsage, parsed: ParsedUsage) => parsed.network.map((each) => ({ value: each[key], labels: each.labels }));
  return { name: `container_network_${name}_total`, type: 'counter', help: `Cumulative count of ${help}`, read };
}

/** Undefined when the time is not known: 0 would be 1970. */
const createdAtSeconds = ({ identity }: CgroupUsage) => (identity.createdAtMs > 0 ? Math.floor(identity.createdAtMs / 1000) : undefined);
const totalCpu = extraLabels({ cpu: 'total' });
const memoryFailures = ['container', 'hierarchy'].map((scope) => ({
  minor: extraLabels({ failure_type: 'pgfault', scope }),
  major: extraLabels({ failure_type: 'pgmajfault', scope }),
}));
const maxOpenFilesLimit = extraLabels({ ulimit: 'max_open_files' });

export const cgroupMetrics: readonly CgroupMetric[] = [
  {
    name: 'container_blkio_device_usage_total',
    type: 'counter',
    help: 'Blkio Device bytes usage',
    read: (_, parsed) =>
      parsed.io.flatMap(({ device, deviceName, bytes }) => {
        const [major = '', minor = ''] = device.split(':');
        return Object.entries(bytes).map(([operation, value]) => ({
          value,
          labels: extraLabels({ device: deviceName, major, minor, operation }),
        }));
      }),
  },
  cfs('container_cpu_cfs_burst_periods_total', 'Number of periods when burst occurs.', 'cfsBurstPeriods'),
  cfs('container_cpu_cfs_burst_seconds_total', 'Total time duration the container has been bursted.', 'cfsBurstNs', nsPerSecond),
  cfs('container_cpu_cfs_periods_total', 'Number of elapsed enforcement period intervals.', 'cfsPeriods'),
  cfs('container_cpu_cfs_throttled_periods_total', 'Number of throttled period intervals.', 'cfsThrottledPeriods'),
  cfs('container_cpu_cfs_throttled_seconds_total', 'Total time duration the container has been throttled.', 'cfsThrottledNs', nsPerSecond),
  field('container_cpu_system_seconds_total', 'counter', 'Cumulative system cpu time consumed in seconds.', 'cpuSystemNs', nsPerSecond),
  {
    name: 'container_cpu_usage_seconds_total',
    type: 'counter',
    help: 'Cumulative cpu time consumed in seconds.',
    read: ({ values }) => (values.cpuUsageNs > 0n ? [{ value: Number(values.cpuUsageNs) / nsPerSecond, labels: totalCpu }] : []),
  },
  field('container_cpu_user_seconds_total', 'counter', 'Cumulative user cpu time consumed in seconds.', 'cpuUserNs', nsPerSecond),
  {
    name: 'container_creation_time_seconds',
    type: 'gauge',
    help: 'Container creation time since unix epoch in seconds.',
    hasNoTimestamp: true,
    readOne: createdAtSeconds,
  },
  field('container_file_descriptors', 'gauge', 'Number of open file descriptors for the container.', 'fileDescriptors'),
  filesystem('inodes_free', 'gauge', 'Number of available Inodes', 'inodesFree'),
  filesystem('inodes_total', 'gauge', 'Number of Inodes', 'inodes'),
  filesystem('io_current', 'gauge', 'Number of I/Os currently in progress', 'ioInProgress'),
  filesystem('io_time_seconds_total', 'counter', 'Cumulative count of seconds spent doing I/Os', 'ioMs', msPerSecond),
  filesystem('io_time_weighted_seconds_total', 'counter', 'Cumulative weighted I/O time in seconds', 'weightedIoMs', msPerSecond),
  ioCost('indebt', 'debt'),
  ioCost('indelay', 'delay'),
  ioCost('usage', 'usage'),
  ioCost('wait', 'wait'),
  filesystem('limit_bytes', 'gauge', 'Number of bytes that can be consumed by the container on this filesystem.', 'capacityBytes'),
  filesystem('read_seconds_total', 'counter', 'Cumulative count of seconds spent reading', 'readMs', msPerSecond),
  io('container_fs_reads_bytes_total', 'Cumulative count of bytes read', 'bytes', 'Read'),
  filesystem('reads_merged_total', 'counter', 'Cumulative count of reads merged', 'readsMerged'),
  io('container_fs_reads_total', 'Cumulative count of reads completed', 'operations', 'Read', 'reads'),
  filesystem('sector_reads_total', 'counter', 'Cumulative count of sector reads completed', 'sectorsRead'),
  filesystem('sector_writes_total', 'counter', 'Cumulative count of sector writes completed', 'sectorsWritten'),
  filesystem('usage_bytes', 'gauge', 'Number of bytes that are consumed by the container on this filesystem.', 'usedBytes'),
  filesystem('write_seconds_total', 'counter', 'Cumulative count of seconds spent writing', 'writeMs', msPerSecond),
  io('container_fs_writes_bytes_total', 'Cumulative count of bytes written', 'bytes', 'Write'),
  filesystem('writes_merged_total', 'counter', 'Cumulative count of writes merged', 'writesMerged'),
  io('container_fs_writes_total', 'Cumulative count of writes completed', 'operations', 'Write', 'writes'),
  {
    name: 'container_health_state',
    type: 'gauge',
    help: "The result of the container's health check",
    // No health check is defined: only Docker's containers have one.
    readOne: () => -1,
  },
  field('container_memory_cache', 'gauge', 'Number of bytes of page cache memory.', 'memoryCacheBytes'),
  field(
    'container_memory_events_high_total',
    'counter',
    'Cumulative count of memory.high throttle events for the container',
    'memoryEventsHigh',
  ),
  field(
    'container_memory_events_max_total',
    'counter',
    'Cumulative count of memory.max limit hit events for the container',
    'memoryEventsMax',
  ),
  field('container_memory_failcnt', 'counter', 'Number of memory usage hits limits', 'memoryFailures'),
  {
    name: 'container_memory_failures_total',
    type: 'counter',
    help: 'Cumulative count of memory allocation failures.',
    read: ({ values }) =>
      memoryFailures.flatMap(({ minor, major }) => [
        { value: values.pageFaults, labels: minor },
        { value: values.majorPageFaults, labels: major },
      ]),
  },
  field(
    'container_memory_file_dirty_bytes',
    'gauge',
    'Number of bytes of file cache that has been modified but not yet written back to disk.',
    'memoryFileDirtyBytes',
  ),
  field(
    'container_memory_file_writeback_bytes',
    'gauge',
    'Number of bytes of file cache that is currently being written back to disk.',
    'memoryFileWritebackBytes',
  ),
  field('container_memory_kernel_usage', 'gauge', 'Size of kernel memory allocated in bytes.', 'memoryKernelBytes'),
  field('container_memory_mapped_file', 'gauge', 'Size of memory mapped files in bytes.', 'memoryMappedFileBytes'),
  field('container_memory_max_usage_bytes', 'gauge', 'Maximum memory usage recorded in bytes', 'memoryMaxUsageBytes'),
  field('container_memory_pgscan_total', 'counter', 'Cumulative number of pages scanned by the page reclaim algorithm.', 'pagesScanned'),
  field(
    'container_memory_pgsteal_total',
    'counter',
    'Cumulative number of pages reclaimed by the page reclaim algorithm.',
    'pagesReclaimed',
  ),
  field('container_memory_rss', 'gauge', 'Size of RSS in bytes.', 'memoryRssBytes'),
  field('container_memory_swap', 'gauge', 'Container swap usage in bytes.', 'swapBytes'),
  field('container_memory_total_active_file_bytes', 'gauge', 'Current total active file in bytes.', 'memoryActiveFileBytes'),
  field('container_memory_total_inactive_file_bytes', 'gauge', 'Current total inactive file in bytes.', 'memoryInactiveFileBytes'),
  field(
    'container_memory_usage_bytes',
    'gauge',
    'Current memory usage in bytes, including all memory regardless of when it was accessed',
    'memoryUsageBytes',
  ),
  field('container_memory_working_set_bytes', 'gauge', 'Current working set in bytes.', 'memoryWorkingSetBytes'),
  field(
    'container_memory_workingset_refault_anon_total',
    'counter',
    'Cumulative number of refaults of previously evicted anonymous pages.',
    'anonRefaults',
  ),
  field(
    'container_memory_workingset_refault_file_total',
    'counter',
    'Cumulative number of refaults of previously evicted file pages.',
    'fileRefaults',
  ),
  network('receive_bytes', 'bytes received', 'rxBytes'),
  network('receive_errors', 'errors encountered while receiving', 'rxErrors'),
  network('receive_packets_dropped', 'packets dropped while receiving', 'rxDropped'),
  network('receive_packets', 'packets received', 'rxPackets'),
  network('transmit_bytes', 'bytes transmitted', 'txBytes'),
  network('transmit_errors', 'errors encountered while transmitting', 'txErrors'),
  network('transmit_packets_dropped', 'packets dropped while transmitting', 'txDropped'),
  network('transmit_packets', 'packets transmitted', 'txPackets'),
  field('container_oom_events_total', 'counter', 'Count of out of memory events observed for the container', 'oomEvents'),
  field('container_processes', 'gauge', 'Number of processes running inside the container.', 'processes'),
  field('container_sockets', 'gauge', 'Number of open sockets for the container.', 'sockets'),
  {
    name: 'container_spec_cpu_quota',
    type: 'gauge',
    help: 'CPU quota of the container.',
    hasNoTimestamp: true,
    readOne: ({ values }) => (values.cpuQuotaUs === 0 ? undefined : values.cpuQuotaUs),
  },
  limit('container_spec_cpu_period', 'CPU period of the container.', 'cpuPeriodUs'),
  limit('container_spec_cpu_shares', 'CPU share of the container.', 'cpuShares'),
  limit('container_spec_memory_limit_bytes', 'Memory limit for the container.', 'memoryLimitBytes'),
  limit('container_spec_memory_reservation_limit_bytes', 'Memory reservation limit for the container.', 'memoryReservationBytes'),
  limit('container_spec_memory_swap_limit_bytes', 'Memory swap limit for the container.', 'memorySwapLimitBytes'),
  {
    name: 'container_start_time_seconds',
    type: 'gauge',
    help: 'Start time of the container since unix epoch in seconds.',
    hasNoTimestamp: true,
    // The runtime's start time, which cadvisor shows for some runtimes, is the creation time with containerd.
    readOne: createdAtSeconds,
  },
  field('container_threads', 'gauge', 'Number of threads running inside the container', 'threads'),
  field(
    'container_threads_max',
    'gauge',
    'Maximum number of threads allowed inside the container, infinity if value is zero',
    'threadsMax',
  ),
  {
    name: 'container_ulimits_soft',
    type: 'gauge',
    help: 'Soft ulimit values for the container root process. Unlimited if -1, except priority and nice',
    read: ({ identity: { kind }, values: { maxOpenFiles } }) =>
      Number.isNaN(maxOpenFiles) || !['root', 'sandbox', 'container'].includes(kind)
        ? []
        : [{ value: maxOpenFiles, labels: maxOpenFilesLimit }],
  },
];

/** Shown only where the kernel measures pressure (PSI) per cgroup. */
export const pressureMetrics: readonly CgroupMetric[] = (
  [
    ['cpu', 'CPU'],
    ['memory', 'memory'],
    ['io', 'IO'],
  ] as const
).flatMap(([resource, shown]) => [
  field(
    `container_pressure_${resource}_stalled_seconds_total`,
    'counter',
    `Total time duration no tasks in the container could make progress due to ${shown} congestion.`,
    `${resource}FullTotalUs`,
    usPerSecond,
  ),
  field(
    `container_pressure_${resource}_waiting_seconds_total`,
    'counter',
    `Total time duration tasks in the container have waited due to ${shown} congestion.`,
    `${resource}SomeTotalUs`,
    usPerSecond,
  ),
]);
