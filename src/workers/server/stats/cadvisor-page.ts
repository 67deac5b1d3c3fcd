/** Renders /metrics/cadvisor: the metrics of all measured cgroups, and of the machine. Pure. */
import type { MachineFacts } from '../../../shared/state/machine-table.ts';
import type { NodeFilesystem } from '../../../shared/state/node-filesystem-table.ts';
import type { CgroupUsage, DeviceIo, InterfaceUsage } from '../../../shared/state/usage-table.ts';
import { cgroupMetrics, pressureMetrics, type CgroupMetric, type ParsedUsage } from './cadvisor-metrics.ts';
import { label, MetricsText } from '../../../shared/metrics/metrics-text.ts';
import { formatNumber } from '../../../shared/metrics/render-metrics.ts';
import { CommonLabels, extraLabels } from './cadvisor-labels.ts';

export interface CadvisorPageOptions {
  readonly rows: readonly CgroupUsage[];
  /** Undefined until the stats thread has read them. */
  readonly machine: MachineFacts | undefined;
  readonly filesystems: readonly NodeFilesystem[];
  readonly nowMs: number;
  readonly hasPressure: boolean;
  readonly deviceName: (device: string) => string;
}

/**
 * Yields the page in pieces: a node of 500 pods has 30 MB. Metrics are sorted by name, each with its cgroups by path. What the rows contain is the state at the
 * call; nobody else needs to keep them.
 */
export function* renderCadvisorPage({
  rows,
  machine,
  filesystems,
  nowMs,
  hasPressure,
  deviceName,
}: CadvisorPageOptions): Generator<string> {
  const seen = { name: 'container_last_seen', type: 'gauge', help: 'Last time a container was seen by the exporter' } as const;
  const cgroups = cgroupsOf(rows.filter(({ identity }) => identity.path !== '')).map((row) => toRendered(row, filesystems, deviceName));
  const families: Family[] = [
    ...(hasPressure ? [...cgroupMetrics, ...pressureMetrics] : cgroupMetrics).map((metric) => familyOf(metric, cgroups)),
    { name: seen.name, pieces: () => lastSeen(head(seen), cgroups, nowMs) },
    { name: 'container_scrape_error', pieces: () => [scrapeError(rows.length > 0)] },
  ];
  if (machine) yield renderVersion(machine);
  for (const { pieces } of families.sort((a, b) => compare(a.name, b.name))) yield* pieces();
  yield renderMachineMetrics(machine);
}

/** The metrics of one name. */
interface Family {
  readonly name: string;
  readonly pieces: () => Iterable<string>;
}

/** A cgroup with the parts of its lines that its metrics have in common. */
interface RenderedCgroup {
  readonly row: CgroupUsage;
  readonly parsed: ParsedUsage;
  readonly labels: CommonLabels;
  /** ` 1767323045000` */
  readonly stamp: string;
}

function toRendered(row: CgroupUsage, filesystems: readonly NodeFilesystem[], nameOf: (device: string) => string): RenderedCgroup {
  const { values, identity } = row;
  const io = values.io === '[]' ? none : (JSON.parse(values.io) as DeviceIo[]);
  const network = values.network === '[]' ? none : (JSON.parse(values.network) as InterfaceUsage[]);
  const named = io.map((each) => ({ ...each, deviceName: nameOf(each.device) }));
  return {
    row,
    parsed: {
      io: named.map((each) => ({ ...each, labels: extraLabels({ device: each.deviceName }) })),
      network: network.map((each) => ({ ...each, labels: extraLabels({ interface: each.name }) })),
      filesystems: identity.kind === 'root' ? filesystems.map((each) => ({ ...each, labels: extraLabels({ device: each.device }) })) : none,
    },
    labels: new CommonLabels(identity),
    stamp: values.sampledAtMs > 0 ? ` ${Math.trunc(values.sampledAtMs)}` : '',
  };
}
const none: readonly never[] = [];

/** A piece of this many lines has about 60 KB, and takes half a millisecond. */
const linesPerPiece = 200;

function familyOf(metric: CgroupMetric, cgroups: readonly RenderedCgroup[]): Family {
  return { name: metric.name, pieces: () => piecesOf(metric, cgroups) };
}

function* piecesOf(metric: CgroupMetric, cgroups: readonly RenderedCgroup[]): Generator<string> {
  let text = '';
  let lines = 0;
  for (const cgroup of cgroups) {
    const added = linesOf(metric, cgroup);
    if (added === '') continue;
    // A metric without values has no head.
    if (text === '' && lines === 0) text = head(metric);
    text += added;
    lines += 1;
    if (lines % linesPerPiece !== 0) continue;
    yield text;
    text = '';
  }
  if (text !== '') yield text;
}

function linesOf(metric: CgroupMetric, { row, parsed, labels, stamp }: RenderedCgroup): string {
  const end = metric.isSpec ? '\n' : `${stamp}\n`;
  if ('readOne' in metric) {
    const value = metric.readOne(row);
    return value === undefined ? '' : `${metric.name}{${labels.text}} ${formatNumber(value)}${end}`;
  }
  const values = metric.read(row, parsed);
  // Two devices may have one name, or none. As upstream, the first value is shown.
  const seen = values.length > 1 ? new Set<string>() : undefined;
  let text = '';
  for (const { value, labels: extra } of values) {
    const all = extra ? labels.with(extra) : labels.text;
    if (seen?.has(all)) continue;
    seen?.add(all);
    text += `${metric.name}{${all}} ${formatNumber(value)}${end}`;
  }
  return text;
}

function* lastSeen(start: string, cgroups: readonly RenderedCgroup[], nowMs: number): Generator<string> {
  const end = `} ${formatNumber(Math.floor(nowMs / 1000))} ${Math.trunc(nowMs)}\n`;
  for (let first = 0; first < cgroups.length; first += linesPerPiece) {
    const lines = cgroups.slice(first, first + linesPerPiece).map(({ labels }) => `container_last_seen{${labels.text}${end}`);
    yield (first === 0 ? start : '') + lines.join('');
  }
}

function head({ name, type, help }: Pick<CgroupMetric, 'name' | 'type' | 'help'>): string {
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n`;
}

function scrapeError(hasRows: boolean): string {
  const text = new MetricsText();
  const help = '1 if there was an error while getting container metrics, 0 otherwise';
  text.add('container_scrape_error', 'gauge', help, '', hasRows ? 0 : 1);
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

function renderVersion(machine: MachineFacts): string {
  const text = new MetricsText();
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
  return text.toString();
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
