/**
 * The metrics of /metrics/cadvisor about cgroups: names, types, help texts and values as cadvisor has them (v0.56, metrics/prometheus.go), for the groups that
 * the kubelet enables. Pure.
 */
import type { CgroupUsage, DeviceIo, InterfaceUsage, UsageValues } from '../../../shared/state/usage-table.ts';

export interface MetricValue {
  readonly value: number;
  /** The labels beside the common ones. */
  readonly labels?: Readonly<Record<string, string>>;
}

export interface CgroupMetric {
  readonly name: string;
  readonly type: 'counter' | 'gauge';
  readonly help: string;
  /** Metrics about limits have no timestamp. */
  readonly isSpec?: true;
  readonly read: (usage: CgroupUsage, parsed: ParsedUsage) => readonly MetricValue[];
}

/** The parts of a row that are stored as JSON. */
export interface ParsedUsage {
  readonly io: readonly DeviceIo[];
  readonly network: readonly InterfaceUsage[];
  /** `/dev/sda` of `8:0`. */
  readonly deviceName: (device: string) => string;
}

const nsPerSecond = 1e9;
const usPerSecond = 1e6;
type NumberField = { [K in keyof UsageValues]: UsageValues[K] extends number ? K : never }[keyof UsageValues];

function field(name: string, type: CgroupMetric['type'], help: string, key: NumberField, divisor = 1): CgroupMetric {
  return { name, type, help, read: ({ values }) => [{ value: values[key] / divisor }] };
}
/** Only cgroups with a quota have these. */
function cfs(name: string, help: string, key: NumberField, divisor = 1): CgroupMetric {
  return { name, type: 'counter', help, read: ({ values }) => (values.cpuQuotaUs === 0 ? [] : [{ value: values[key] / divisor }]) };
}
/** A value of a limit: 0 without one. */
function limit(name: string, help: string, key: NumberField): CgroupMetric {
  const read = ({ values }: CgroupUsage) => [{ value: Number.isFinite(values[key]) ? values[key] : 0 }];
  return { name, type: 'gauge', help, isSpec: true, read };
}
function io(name: string, help: string, table: 'bytes' | 'operations', operation: 'Read' | 'Write'): CgroupMetric {
  return {
    name,
    type: 'counter',
    help,
    read: (_, parsed) =>
      parsed.io.map((each) => ({ value: each[table][operation] ?? 0, labels: { device: parsed.deviceName(each.device) } })),
  };
}
function network(name: string, help: string, key: Exclude<keyof InterfaceUsage, 'name'>): CgroupMetric {
  const read = (_: CgroupUsage, parsed: ParsedUsage) =>
    parsed.network.map((each) => ({ value: each[key], labels: { interface: each.name } }));
  return { name: `container_network_${name}_total`, type: 'counter', help: `Cumulative count of ${help}`, read };
}

/** cadvisor's load reader is off in the kubelet, which shows zeros. */
const taskStates = ['sleeping', 'running', 'stopped', 'uninterruptible', 'iowaiting'];
const zero = () => [{ value: 0 }];

export const cgroupMetrics: readonly CgroupMetric[] = [
  {
    name: 'container_blkio_device_usage_total',
    type: 'counter',
    help: 'Blkio Device bytes usage',
    read: (_, parsed) =>
      parsed.io.flatMap(({ device, bytes }) => {
        const [major = '', minor = ''] = device.split(':');
        return Object.entries(bytes).map(([operation, value]) => ({
          value,
          labels: { device: parsed.deviceName(device), major, minor, operation },
        }));
      }),
  },
  cfs('container_cpu_cfs_burst_periods_total', 'Number of periods when burst occurs.', 'cfsBurstPeriods'),
  cfs('container_cpu_cfs_burst_seconds_total', 'Total time duration the container has been bursted.', 'cfsBurstNs', nsPerSecond),
  cfs('container_cpu_cfs_periods_total', 'Number of elapsed enforcement period intervals.', 'cfsPeriods'),
  cfs('container_cpu_cfs_throttled_periods_total', 'Number of throttled period intervals.', 'cfsThrottledPeriods'),
  cfs('container_cpu_cfs_throttled_seconds_total', 'Total time duration the container has been throttled.', 'cfsThrottledNs', nsPerSecond),
  {
    name: 'container_cpu_load_average_10s',
    type: 'gauge',
    help: 'Value of container cpu load average over the last 10 seconds.',
    read: zero,
  },
  {
    name: 'container_cpu_load_d_average_10s',
    type: 'gauge',
    help: 'Value of container cpu load.d average over the last 10 seconds.',
    read: zero,
  },
  field('container_cpu_system_seconds_total', 'counter', 'Cumulative system cpu time consumed in seconds.', 'cpuSystemNs', nsPerSecond),
  {
    name: 'container_cpu_usage_seconds_total',
    type: 'counter',
    help: 'Cumulative cpu time consumed in seconds.',
    read: ({ values }) => (values.cpuUsageNs > 0n ? [{ value: Number(values.cpuUsageNs) / nsPerSecond, labels: { cpu: 'total' } }] : []),
  },
  field('container_cpu_user_seconds_total', 'counter', 'Cumulative user cpu time consumed in seconds.', 'cpuUserNs', nsPerSecond),
  io('container_fs_reads_bytes_total', 'Cumulative count of bytes read', 'bytes', 'Read'),
  io('container_fs_reads_total', 'Cumulative count of reads completed', 'operations', 'Read'),
  io('container_fs_writes_bytes_total', 'Cumulative count of bytes written', 'bytes', 'Write'),
  io('container_fs_writes_total', 'Cumulative count of writes completed', 'operations', 'Write'),
  field('container_memory_cache', 'gauge', 'Number of bytes of page cache memory.', 'memoryCacheBytes'),
  field('container_memory_failcnt', 'counter', 'Number of memory usage hits limits', 'memoryFailures'),
  {
    name: 'container_memory_failures_total',
    type: 'counter',
    help: 'Cumulative count of memory allocation failures.',
    read: ({ values }) =>
      ['container', 'hierarchy'].flatMap((scope) => [
        { value: values.pageFaults, labels: { failure_type: 'pgfault', scope } },
        { value: values.majorPageFaults, labels: { failure_type: 'pgmajfault', scope } },
      ]),
  },
  field('container_memory_kernel_usage', 'gauge', 'Size of kernel memory allocated in bytes.', 'memoryKernelBytes'),
  field('container_memory_mapped_file', 'gauge', 'Size of memory mapped files in bytes.', 'memoryMappedFileBytes'),
  field('container_memory_max_usage_bytes', 'gauge', 'Maximum memory usage recorded in bytes', 'memoryMaxUsageBytes'),
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
  {
    name: 'container_spec_cpu_quota',
    type: 'gauge',
    help: 'CPU quota of the container.',
    isSpec: true,
    read: ({ values }) => (values.cpuQuotaUs === 0 ? [] : [{ value: values.cpuQuotaUs }]),
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
    isSpec: true,
    read: ({ identity }) => [{ value: Math.floor(identity.createdAtMs / 1000) }],
  },
  {
    name: 'container_tasks_state',
    type: 'gauge',
    help: 'Number of tasks in given state',
    read: () => taskStates.map((state) => ({ value: 0, labels: { state } })),
  },
  field('container_threads', 'gauge', 'Number of threads running inside the container', 'threads'),
  field(
    'container_threads_max',
    'gauge',
    'Maximum number of threads allowed inside the container, infinity if value is zero',
    'threadsMax',
  ),
];

/** Only where the kernel measures pressure per cgroup. */
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
