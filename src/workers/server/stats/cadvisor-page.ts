/** The families of /metrics/cadvisor: the metrics of all measured cgroups, and of the machine. Pure. */
import type { MachineRow } from '../../../shared/state/machine-table.ts';
import type { NodeFilesystem } from '../../../shared/state/node-filesystem-table.ts';
import type { CgroupUsage, DeviceIo, InterfaceUsage } from '../../../shared/state/usage-table.ts';
import { cgroupMetrics, pressureMetrics, type CgroupMetric, type ParsedUsage } from './cadvisor-metrics.ts';
import { FamilyList } from '../../../shared/metrics/exposition/family-list.ts';
import { labelsOf, noLabels, type Labels } from '../../../shared/metrics/exposition/labels.ts';
import { aSample, type MetricFamily, type Sample } from '../../../shared/metrics/exposition/metric-family.ts';
import { commonLabels, extraLabels, withExtra } from './cadvisor-labels.ts';

export interface CadvisorPageOptions {
  readonly rows: readonly CgroupUsage[];
  /** Undefined until the stats thread has read the machine's information. */
  readonly machine: MachineRow | undefined;
  readonly filesystems: readonly NodeFilesystem[];
  /** Returns the filesystem of a container, if the page shows one. */
  readonly layerOf?: (row: CgroupUsage) => NodeFilesystem | undefined;
  readonly nowMs: number;
  readonly hasPressure: boolean;
  readonly deviceName: (device: string) => string;
}

/**
 * Yields the page's families: metrics are sorted by name, each with its cgroups by path. The page shows the rows as they are at the call, however slowly
 * the client reads.
 */
export function* cadvisorFamilies({
  rows,
  machine,
  filesystems,
  layerOf,
  nowMs,
  hasPressure,
  deviceName,
}: CadvisorPageOptions): Generator<MetricFamily> {
  const cgroups = cgroupsOf(rows.filter(({ identity }) => identity.path !== '')).map((row) =>
    toRendered(row, filesystemsOf(row, filesystems, layerOf), deviceName),
  );
  const families: MetricFamily[] = [
    ...(hasPressure ? [...cgroupMetrics, ...pressureMetrics] : cgroupMetrics).map((metric) => ({
      name: metric.name,
      type: metric.type,
      help: metric.help,
      samples: samplesOf(metric, cgroups),
    })),
    {
      name: 'container_last_seen',
      type: 'gauge',
      help: 'Last time a container was seen by the exporter',
      samples: lastSeen(cgroups, nowMs),
    },
    {
      name: 'container_scrape_error',
      type: 'gauge',
      help: '1 if there was an error while getting container metrics, 0 otherwise',
      samples: [aSample(noLabels, rows.length > 0 ? 0 : 1)],
    },
  ];
  if (machine) yield versionFamily(machine);
  yield* families.sort((a, b) => compare(a.name, b.name));
  yield* machineFamilies(machine);
}

/** A cgroup with what all its metrics share: its labels, and the parsed JSON of its row. */
interface RenderedCgroup {
  readonly row: CgroupUsage;
  readonly parsed: ParsedUsage;
  readonly labels: Labels;
}

function toRendered(row: CgroupUsage, filesystems: readonly NodeFilesystem[], nameOf: (device: string) => string): RenderedCgroup {
  const { values, identity } = row;
  const io = values.io === '[]' ? none : (JSON.parse(values.io) as DeviceIo[]);
  const network = values.network === '[]' ? none : (JSON.parse(values.network) as InterfaceUsage[]);
  const namedIo = io.map((each) => ({ ...each, deviceName: nameOf(each.device) }));
  return {
    row,
    parsed: {
      io: namedIo.map((each) => ({ ...each, labels: extraLabels({ device: each.deviceName }) })),
      network: network.map((each) => ({ ...each, labels: extraLabels({ interface: each.name }) })),
      filesystems: filesystems.map((each) => ({ ...each, labels: extraLabels({ device: each.device }) })),
    },
    labels: commonLabels(identity),
  };
}
const none: readonly never[] = [];

function filesystemsOf(
  row: CgroupUsage,
  nodeFilesystems: readonly NodeFilesystem[],
  layerOf: CadvisorPageOptions['layerOf'],
): readonly NodeFilesystem[] {
  if (row.identity.kind === 'root') return nodeFilesystems;
  const layer = layerOf?.(row);
  return layer ? [layer] : none;
}

function* samplesOf(metric: CgroupMetric, cgroups: readonly RenderedCgroup[]): Generator<Sample> {
  for (const { row, parsed, labels } of cgroups) {
    const timestampMs = metric.hasNoTimestamp ? 0 : row.values.sampledAtMs;
    if ('readOne' in metric) {
      const value = metric.readOne(row);
      if (value !== undefined && !Number.isNaN(value)) yield aSample(labels, value, timestampMs);
      continue;
    }
    const values = metric.read(row, parsed);
    // Two devices may have the same name, or no name. As upstream, only the first value is shown.
    const seen = values.length > 1 ? new Set<string>() : undefined;
    for (const { value, labels: extra = [] } of values) {
      const key = seen && extra.map(({ pair }) => pair.text).join(',');
      if (key !== undefined && seen?.has(key)) continue;
      if (key !== undefined) seen?.add(key);
      yield aSample(extra.length === 0 ? labels : withExtra(labels, extra), value, timestampMs);
    }
  }
}

function* lastSeen(cgroups: readonly RenderedCgroup[], nowMs: number): Generator<Sample> {
  for (const { labels } of cgroups) yield aSample(labels, Math.floor(nowMs / 1000), nowMs);
}

/** The metrics of the machine: all that the kubelet adds to the page when the runtime has its own metrics of containers. */
export function machineFamilies(machine: MachineRow | undefined): MetricFamily[] {
  const list = new FamilyList();
  if (machine) addMachine(list, machine);
  const help = '1 if there was an error while getting machine metrics, 0 otherwise.';
  list.add('machine_scrape_error', 'gauge', help, noLabels, machine ? 0 : 1);
  return list.sorted();
}

/** Keeps one row per cgroup. The cgroup of a system container may have another row, which is kept then. */
function cgroupsOf(rows: readonly CgroupUsage[]): CgroupUsage[] {
  const byPath = new Map<string, CgroupUsage>();
  for (const row of rows) {
    const { kind, path } = row.identity;
    const isSystem = kind === 'kubelet' || kind === 'runtime' || kind === 'misc' || kind === 'pods';
    if (!isSystem || !byPath.has(path)) byPath.set(path, row);
  }
  return [...byPath.values()].sort((a, b) => (a.identity.path < b.identity.path ? -1 : 1));
}

function addMachine(list: FamilyList, { bootID, machineID, systemUUID, ...machine }: MachineRow): void {
  const labels = labelsOf({ boot_id: bootID, machine_id: machineID, system_uuid: systemUUID });
  const add = (name: string, help: string, value: number) => list.add(name, 'gauge', help, labels, value);
  // cadvisor finds books and drawers on s390x only, and NVM only when it is built with libipmctl.
  add('machine_cpu_books', 'Number of CPU books.', 0);
  add('machine_cpu_cores', 'Number of logical CPU cores.', machine.numCores);
  add('machine_cpu_drawers', 'Number of CPU drawers.', 0);
  add('machine_cpu_physical_cores', 'Number of physical CPU cores.', machine.numPhysicalCores);
  add('machine_cpu_sockets', 'Number of CPU sockets.', machine.numSockets);
  add('machine_memory_bytes', 'Amount of memory installed on the machine.', machine.memoryBytes);
  add('machine_swap_bytes', 'Amount of swap memory available on the machine.', machine.swapBytes);
  add('machine_nvm_avg_power_budget_watts', 'NVM power budget.', 0);
  for (const mode of ['app_direct_mode', 'memory_mode']) {
    const modeLabels = labelsOf({ boot_id: bootID, machine_id: machineID, mode, system_uuid: systemUUID });
    list.add('machine_nvm_capacity', 'gauge', 'NVM capacity value labeled by NVM mode (memory mode or app direct mode).', modeLabels, 0);
  }
}

/** The Go kubelet leaves the versions of cadvisor and Docker empty, too. */
function versionFamily(machine: MachineRow): MetricFamily {
  const labels = labelsOf({
    cadvisorRevision: '',
    cadvisorVersion: '',
    dockerVersion: '',
    kernelVersion: machine.kernelVersion,
    osVersion: machine.osImage,
  });
  return {
    name: 'cadvisor_version_info',
    type: 'gauge',
    help: "A metric with a constant '1' value labeled by kernel version, OS version, docker version, cadvisor version & cadvisor revision.",
    samples: [aSample(labels, 1)],
  };
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
