/** Renders /metrics/cadvisor: the metrics of all measured cgroups, and of the machine. Pure. */
import type { MachineFacts } from '../../../shared/state/machine-table.ts';
import type { NodeFilesystem } from '../../../shared/state/node-filesystem-table.ts';
import type { CgroupUsage, DeviceIo, InterfaceUsage } from '../../../shared/state/usage-table.ts';
import { cgroupMetrics, pressureMetrics, type CgroupMetric, type ParsedUsage } from './cadvisor-metrics.ts';
import { label, MetricsText } from '../../../shared/metrics/metrics-text.ts';

export interface CadvisorPageOptions {
  readonly rows: readonly CgroupUsage[];
  /** Undefined until the stats thread has read them. */
  readonly machine: MachineFacts | undefined;
  readonly filesystems: readonly NodeFilesystem[];
  readonly nowMs: number;
  readonly hasPressure: boolean;
  readonly deviceName: (device: string) => string;
}

export function renderCadvisorPage({ rows, machine, filesystems, nowMs, hasPressure, deviceName }: CadvisorPageOptions): string {
  const text = new MetricsText();
  const metrics = hasPressure ? [...cgroupMetrics, ...pressureMetrics] : cgroupMetrics;
  for (const row of cgroupsOf(rows.filter(({ identity }) => identity.path !== ''))) {
    const pairs = commonLabels(row);
    const common = pairs.join(',');
    text.add('container_last_seen', 'gauge', 'Last time a container was seen by the exporter', common, Math.floor(nowMs / 1000), nowMs);
    const parsed: ParsedUsage = {
      io: JSON.parse(row.values.io) as DeviceIo[],
      network: JSON.parse(row.values.network) as InterfaceUsage[],
      filesystems: row.identity.kind === 'root' ? filesystems : [],
      deviceName,
    };
    for (const metric of metrics) addMetric(text, metric, row, parsed, pairs, common);
  }
  if (machine) addMachine(text, machine);
  text.add(
    'container_scrape_error',
    'gauge',
    '1 if there was an error while getting container metrics, 0 otherwise',
    '',
    rows.length > 0 ? 0 : 1,
  );
  if (machine) addVersion(text, machine);
  addScrapeError(text, machine);
  return text.toString();
}

/** The part of the page beside the runtime's own metrics of containers. */
export function renderMachineMetrics(machine: MachineFacts | undefined): string {
  const text = new MetricsText();
  if (machine) addMachine(text, machine);
  addScrapeError(text, machine);
  return text.toString();
}

function addScrapeError(text: MetricsText, machine: MachineFacts | undefined): void {
  text.add('machine_scrape_error', 'gauge', '1 if there was an error while getting machine metrics, 0 otherwise.', '', machine ? 0 : 1);
}

/** One row for each cgroup: system containers are cgroups that may have another row. */
function cgroupsOf(rows: readonly CgroupUsage[]): CgroupUsage[] {
  const byPath = new Map<string, CgroupUsage>();
  for (const row of rows) {
    const { kind, path } = row.identity;
    const isSystem = kind === 'kubelet' || kind === 'runtime' || kind === 'misc' || kind === 'pods';
    if (!isSystem || !byPath.has(path)) byPath.set(path, row);
  }
  return [...byPath.values()].sort((a, b) => (a.identity.path < b.identity.path ? -1 : 1));
}

/** Upstream: containerPrometheusLabelsFunc of pkg/kubelet/server/server.go. */
function commonLabels({ identity }: CgroupUsage): string[] {
  return [
    label('container', identity.containerName),
    label('id', identity.path),
    label('image', identity.image),
    label('name', identity.containerID),
    label('namespace', identity.podNamespace),
    label('pod', identity.podName),
  ];
}

function addMetric(
  text: MetricsText,
  metric: CgroupMetric,
  row: CgroupUsage,
  parsed: ParsedUsage,
  pairs: readonly string[],
  common: string,
): void {
  const timestampMs = metric.isSpec ? 0 : row.values.sampledAtMs;
  const values = metric.read(row, parsed);
  // Two devices may have one name, or none. As upstream, the first value is shown.
  const seen = values.length > 1 ? new Set<string>() : undefined;
  for (const { value, labels } of values) {
    // Sorted by name, as Prometheus' client library writes them.
    const all = labels ? [...pairs, ...Object.entries(labels).map(([name, each]) => label(name, each))].sort(compare).join(',') : common;
    if (seen?.has(all)) continue;
    seen?.add(all);
    text.add(metric.name, metric.type, metric.help, all, value, timestampMs);
  }
}

function addMachine(text: MetricsText, machine: MachineFacts): void {
  const pairs = [label('boot_id', machine.bootID), label('machine_id', machine.machineID), label('system_uuid', machine.systemUUID)];
  const add = (name: string, help: string, value: number, labels = pairs) => text.add(name, 'gauge', help, labels.join(','), value);
  add('machine_cpu_books', 'Number of CPU books.', 0);
  add('machine_cpu_cores', 'Number of logical CPU cores.', machine.numCores);
  add('machine_cpu_drawers', 'Number of CPU drawers.', 0);
  add('machine_cpu_physical_cores', 'Number of physical CPU cores.', machine.numPhysicalCores);
  add('machine_cpu_sockets', 'Number of CPU sockets.', machine.numSockets);
  add('machine_memory_bytes', 'Amount of memory installed on the machine.', machine.memoryBytes);
  add('machine_swap_bytes', 'Amount of swap memory available on the machine.', machine.swapBytes);
  add('machine_nvm_avg_power_budget_watts', 'NVM power budget.', 0);
  for (const mode of ['app_direct_mode', 'memory_mode']) {
    add('machine_nvm_capacity', 'NVM capacity value labeled by NVM mode (memory mode or app direct mode).', 0, [
      ...pairs.slice(0, 2),
      label('mode', mode),
      ...pairs.slice(2),
    ]);
  }
}

function addVersion(text: MetricsText, machine: MachineFacts): void {
  const version = [
    label('cadvisorRevision', ''),
    label('cadvisorVersion', ''),
    label('dockerVersion', ''),
    label('kernelVersion', machine.kernelVersion),
    label('osVersion', machine.osImage),
  ];
  const versionHelp =
    "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.";
  text.add('cadvisor_version_info', 'gauge', versionHelp, version.join(','), 1);
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
