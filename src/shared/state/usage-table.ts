/**
 * The resource usage of the measured cgroups: the root, the system containers, the pods, and their containers. The stats thread writes it, the server
 * thread renders it, eviction (main) reads it. The identity of a cgroup is in a table of its own, so that readers decode its texts only once.
 * Meaning and units of the values are cadvisor's (github.com/google/cadvisor, info/v1/container.go). NaN: not known.
 */
import type { ContainerID, PodUID, SandboxID } from '../kubernetes/ids.ts';
import { filesystemRows, filesystemTable, type FilesystemRow, type FilesystemWriter } from './filesystem-table.ts';
import { machineTable, type MachineFacts, type MachineFields } from './machine-table.ts';
import { maxNodeFilesystems, nodeFilesystemTable, type NodeFilesystem } from './node-filesystem-table.ts';
import { nodeTasksTable, type NodeTasks, type NodeTasksFields } from './node-tasks-table.ts';
import { f64, i64, text, u32, u8, type Row } from './table-layout.ts';
import { defineTable, type TableReader, type TableWriter } from './typed-table.ts';

/** `qos` is `kubepods` and the cgroups of its QoS classes; `kubelet`, `runtime`, `misc` and `pods` are the system containers of /stats/summary. */
export const cgroupKinds = ['root', 'kubelet', 'runtime', 'misc', 'pods', 'qos', 'pod', 'sandbox', 'container'] as const;
export type CgroupKind = (typeof cgroupKinds)[number];

const identityFields = {
  /** An index into `cgroupKinds`. */
  kind: u8,
  /** Below the mount point of each hierarchy: `/kubepods/pod…`. */
  path: text(1024),
  /** A static pod's manifest may set a UID that is longer than the API server's 36 characters. Empty unless the cgroup belongs to a pod. */
  podUID: text<PodUID | ''>(128),
  podName: text(253),
  podNamespace: text(63),
  containerName: text(63),
  /** Of a container or a sandbox. */
  containerID: text<ContainerID | SandboxID | ''>(128),
  /** Of a container. */
  image: text(512),
  /** Wall-clock ms of the cgroup's creation. */
  createdAtMs: f64,
};

const pressureFields = <P extends string>(prefix: P) => {
  const names = ['SomeTotalUs', 'SomeAvg10', 'SomeAvg60', 'SomeAvg300', 'FullTotalUs', 'FullAvg10', 'FullAvg60', 'FullAvg300'] as const;
  return Object.fromEntries(names.map((name) => [prefix + name, f64])) as Record<`${P}${(typeof names)[number]}`, typeof f64>;
};

const valueFields = {
  /** The version of the identity's row that these values belong to. A reader ignores the values of an earlier cgroup. */
  identityVersion: u32,
  /** Wall-clock ms. */
  sampledAtMs: f64,
  /** Since the creation of the cgroup. */
  cpuUsageNs: i64,
  cpuUserNs: f64,
  cpuSystemNs: f64,
  /** Over the time between the last two samples. NaN after the first one. */
  cpuNanoCores: f64,
  cfsPeriods: f64,
  cfsThrottledPeriods: f64,
  cfsThrottledNs: f64,
  cfsBurstPeriods: f64,
  cfsBurstNs: f64,
  memoryUsageBytes: f64,
  /** The usage without inactive file pages, which the kernel can reclaim at any time. */
  memoryWorkingSetBytes: f64,
  memoryRssBytes: f64,
  memoryCacheBytes: f64,
  memoryMappedFileBytes: f64,
  memoryKernelBytes: f64,
  memoryMaxUsageBytes: f64,
  memoryActiveFileBytes: f64,
  memoryInactiveFileBytes: f64,
  memoryFailures: f64,
  pageFaults: f64,
  majorPageFaults: f64,
  swapBytes: f64,
  /** Processes in the cgroup itself. */
  processes: f64,
  /** Open files of these processes, and how many of them are sockets. */
  fileDescriptors: f64,
  sockets: f64,
  /** The first process' soft limit of open files. −1: unlimited. */
  maxOpenFiles: f64,
  /** Tasks in the cgroup and below. */
  threads: f64,
  threadsMax: f64,
  /** Out-of-memory kills in the cgroup and below since it is measured. */
  oomEvents: f64,
  /** Of a container: the files in its log folder. */
  logBytes: f64,
  logInodes: f64,
  cpuShares: f64,
  cpuPeriodUs: f64,
  /** 0: no quota. */
  cpuQuotaUs: f64,
  /** Infinity: no limit. */
  memoryLimitBytes: f64,
  memorySwapLimitBytes: f64,
  memoryReservationBytes: f64,
  ...pressureFields('cpu'),
  ...pressureFields('memory'),
  ...pressureFields('io'),
  /** A DeviceIo[] as JSON. */
  io: text(1022),
  /** An InterfaceUsage[] as JSON, for a sandbox and the root. */
  network: text(2046),
};

/** Bytes and operations on one block device, by the kernel's names of operations (`Read`, `Write`, …). */
export interface DeviceIo {
  /** `8:0` */
  readonly device: string;
  readonly bytes: Readonly<Record<string, number>>;
  readonly operations: Readonly<Record<string, number>>;
  /** Only where the kernel controls the cost of I/O (cgroup v2). */
  readonly costUs?: Readonly<Partial<Record<'usage' | 'wait' | 'indebt' | 'indelay', number>>>;
}

export interface InterfaceUsage {
  readonly name: string;
  readonly rxBytes: number;
  readonly rxPackets: number;
  readonly rxErrors: number;
  readonly rxDropped: number;
  readonly txBytes: number;
  readonly txPackets: number;
  readonly txErrors: number;
  readonly txDropped: number;
}

export type CgroupIdentity = Omit<Row<typeof identityFields>, 'kind'> & { readonly kind: CgroupKind };
export type UsageValues = Omit<Row<typeof valueFields>, 'identityVersion'>;
export interface CgroupUsage {
  readonly identity: CgroupIdentity;
  readonly values: UsageValues;
}

const identities = defineTable('usage-identities', identityFields);
const usage = defineTable('usage', valueFields);

/** Ten rows per pod, for its cgroup, its sandbox and eight containers, and 200 more for terminating pods above the maximum and the node's own. */
export function createUsageTable(maxPods: number): SharedArrayBuffer {
  const capacity = maxPods * 10 + 200;
  const buffer = new SharedArrayBuffer(tasksOffset(capacity) + nodeTasksTable.bytes(1));
  identities.create(capacity, buffer);
  usage.create(capacity, buffer, identities.bytes(capacity));
  machineTable.create(1, buffer, machineOffset(capacity));
  filesystemTable.create(filesystemCount, buffer, filesystemOffset(capacity));
  nodeFilesystemTable.create(maxNodeFilesystems, buffer, nodeFilesystemOffset(capacity));
  nodeTasksTable.create(1, buffer, tasksOffset(capacity));
  return buffer;
}
function machineOffset(capacity: number): number {
  return identities.bytes(capacity) + usage.bytes(capacity);
}

const filesystemCount = Object.keys(filesystemRows).length;
function filesystemOffset(capacity: number): number {
  return machineOffset(capacity) + machineTable.bytes(1);
}

function nodeFilesystemOffset(capacity: number): number {
  return filesystemOffset(capacity) + filesystemTable.bytes(filesystemCount);
}
function tasksOffset(capacity: number): number {
  return nodeFilesystemOffset(capacity) + nodeFilesystemTable.bytes(maxNodeFilesystems);
}

/** The view of a thread that measures some of the filesystems. */
export function openFilesystems(buffer: SharedArrayBuffer, measured: readonly (keyof typeof filesystemRows)[]): FilesystemWriter {
  const { capacity } = identities.reader(buffer);
  return filesystemTable.writer(
    buffer,
    filesystemOffset(capacity),
    measured.map((name) => filesystemRows[name]),
  );
}

/** The stats thread's view. The writer identifies a cgroup by its row number. Frees the rows of a predecessor: the next sample adds them again. */
export class UsageWriter {
  readonly #identities: TableWriter<typeof identityFields>;
  readonly #usage: TableWriter<typeof valueFields>;
  readonly #machine: TableWriter<MachineFields>;
  readonly #nodeFilesystems;
  readonly #tasks: TableWriter<NodeTasksFields>;

  constructor(buffer: SharedArrayBuffer) {
    this.#identities = identities.writer(buffer);
    const { capacity } = this.#identities;
    this.#usage = usage.writer(buffer, identities.bytes(capacity), Array.from(Array(capacity).keys()));
    this.#machine = machineTable.writer(buffer, machineOffset(capacity), [0]);
    this.#nodeFilesystems = nodeFilesystemTable.writer(buffer, nodeFilesystemOffset(capacity));
    this.#tasks = nodeTasksTable.writer(buffer, tasksOffset(capacity), [0]);
    for (let row = this.#identities.highWater - 1; row >= 0; row -= 1) this.#identities.free(row);
  }

  get size(): number {
    return this.#identities.used;
  }

  /** Throws RangeError for a text that is too long. */
  setMachine(facts: MachineFacts): void {
    this.#machine.put(0, facts);
  }

  /** Replaces all. At most `maxNodeFilesystems`. */
  setNodeFilesystems(filesystems: readonly NodeFilesystem[]): void {
    for (const [row, filesystem] of filesystems.entries()) this.#nodeFilesystems.put(row, filesystem);
    for (let row = filesystems.length; row < maxNodeFilesystems; row += 1) this.#nodeFilesystems.free(row);
  }

  setTasks(tasks: NodeTasks): void {
    this.#tasks.put(0, tasks);
  }

  /** Throws TableFullError, or RangeError for a text that is too long. The cgroup is visible once it has values. */
  add(identity: CgroupIdentity): number {
    return this.#identities.insert({ ...identity, kind: cgroupKinds.indexOf(identity.kind) });
  }

  /** Throws RangeError for a text that is too long. */
  put(row: number, values: UsageValues): void {
    this.#usage.put(row, { ...values, identityVersion: this.#identities.version(row) });
  }

  /** As `put`, but every value that is not given becomes 0 or an empty text. */
  putSparse(row: number, values: Partial<UsageValues>): void {
    this.#usage.putSparse(row, { ...values, identityVersion: this.#identities.version(row) });
  }

  remove(row: number): void {
    this.#identities.free(row);
  }
}

const f64Bytes = 8;
const fieldNames = Object.keys(valueFields) as (keyof typeof valueFields)[];
const isNumber = (name: keyof typeof valueFields) => valueFields[name].kind === 'f64';
const offsetOf = (name: keyof typeof valueFields) => usage.layout.offsets[name];
/** The cell of each number, counted from that of the first one. */
const numberFields = fieldNames.filter(isNumber).map((name, _, all) => ({ name, cell: (offsetOf(name) - offsetOf(all[0]!)) / f64Bytes }));
const otherFields = fieldNames.filter((name) => !isNumber(name));
const noValues: Readonly<Record<string, unknown>> = Object.fromEntries(fieldNames.map((name) => [name, 0]));

/** The view of all other threads. */
export class UsageReader {
  readonly #identities: TableReader<typeof identityFields>;
  readonly #usage: TableReader<typeof valueFields>;
  /** The whole buffer. Rows and their f64 columns are at multiples of eight bytes. */
  readonly #numbers: Float64Array;
  readonly #machine: TableReader<MachineFields>;
  readonly #tasks: TableReader<NodeTasksFields>;
  readonly #filesystems;
  readonly #nodeFilesystems;
  /** Decoded identities by row. */
  readonly #decoded: ({ readonly version: number; readonly identity: CgroupIdentity } | undefined)[] = [];

  constructor(buffer: SharedArrayBuffer) {
    this.#identities = identities.reader(buffer);
    this.#usage = usage.reader(buffer, identities.bytes(this.#identities.capacity));
    this.#numbers = new Float64Array(buffer);
    this.#machine = machineTable.reader(buffer, machineOffset(this.#identities.capacity));
    this.#tasks = nodeTasksTable.reader(buffer, tasksOffset(this.#identities.capacity));
    this.#filesystems = filesystemTable.reader(buffer, filesystemOffset(this.#identities.capacity));
    this.#nodeFilesystems = nodeFilesystemTable.reader(buffer, nodeFilesystemOffset(this.#identities.capacity));
  }

  /** Undefined until it was measured. */
  filesystem(name: keyof typeof filesystemRows): FilesystemRow | undefined {
    return this.#filesystems.read(filesystemRows[name]);
  }

  nodeFilesystems(): NodeFilesystem[] {
    return Array.from(Array(maxNodeFilesystems).keys(), (row) => this.#nodeFilesystems.read(row)).filter((each) => each !== undefined);
  }

  /** Undefined until the stats thread has read the machine. */
  machine(): MachineFacts | undefined {
    return this.#machine.read(0);
  }

  /** Undefined until the stats thread has sampled once. */
  tasks(): NodeTasks | undefined {
    return this.#tasks.read(0);
  }

  /** Every measured cgroup, in no particular order. Each is consistent; different ones may be from different samples. */
  all(): CgroupUsage[] {
    return this.select(() => true);
  }

  /** As `all`, but only these cgroups: for a few of them it takes a small part of the time. */
  select(isWanted: (identity: CgroupIdentity) => boolean): CgroupUsage[] {
    const found: CgroupUsage[] = [];
    const end = this.#identities.highWater;
    for (let row = 0; row < end; row += 1) {
      const known = this.#identity(row);
      const values = known && isWanted(known.identity) ? this.#values(row) : undefined;
      if (known && values && values.identityVersion === known.version) found.push({ identity: known.identity, values });
    }
    return found;
  }

  /** As `read` of the table, for rows of seventy numbers ten times as fast: a page reads two thousand rows. */
  #values(row: number): Row<typeof valueFields> | undefined {
    return this.#usage.consistently(row, () => {
      if (!this.#usage.inUse(row)) return undefined;
      const values: Record<string, unknown> = { ...noValues };
      const start = this.#usage.fieldOffset(row, numberFields[0]!.name) / f64Bytes;
      for (const { name, cell } of numberFields) values[name] = this.#numbers[start + cell];
      for (const name of otherFields) values[name] = this.#usage.peek(row, name);
      return values as Row<typeof valueFields>;
    });
  }

  #identity(row: number): { readonly version: number; readonly identity: CgroupIdentity } | undefined {
    const version = this.#identities.version(row);
    const cached = this.#decoded[row];
    if (cached?.version === version) return cached;
    const values = this.#identities.read(row);
    // The row may have changed between the two reads: its values then have another version, and are ignored.
    this.#decoded[row] = values && { version, identity: { ...values, kind: cgroupKinds[values.kind]! } };
    return this.#decoded[row];
  }
}
