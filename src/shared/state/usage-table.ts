/**
 * The resource usage of the measured cgroups: the root, the system containers, the pods, and their containers. The stats thread writes it, the server
 * thread renders it, eviction (main) reads it. The identity of a cgroup is in a table of its own, so that readers decode its texts only once.
 * NaN: not known.
 */
import { DecodedRows } from './decoded-rows.ts';
import { filesystemRows, filesystemTable, type FilesystemRow, type FilesystemWriter } from './filesystem-table.ts';
import { machineTable, type MachineRow, type MachineFields } from './machine-table.ts';
import { maxNodeFilesystems, nodeFilesystemTable, type NodeFilesystem } from './node-filesystem-table.ts';
import { nodeTextsCapacity, nodeTextsTable, NodeTextsWriter, ownerOf, readNodeTexts } from './node-texts-table.ts';
import { nodeTasksTable, type NodeTasks, type NodeTasksFields } from './node-tasks-table.ts';
import { readUsageValues } from './read-usage-values.ts';
import { defineTable, type TableReader, type TableWriter } from './typed-table.ts';
import { cgroupKinds, identityFields, valueFields, type CgroupIdentity, type CgroupUsage, type UsageValues } from './usage-fields.ts';

export { cgroupKinds, isMeasured, unknownUsage } from './usage-fields.ts';
export type { CgroupIdentity, CgroupKind, CgroupUsage, DeviceIo, InterfaceUsage, UsageValues } from './usage-fields.ts';

const identities = defineTable('usage-identities', identityFields);
const usage = defineTable('usage', valueFields);

/** Ten rows per pod, for its cgroup, its sandbox and eight containers, and 200 more for terminating pods above the maximum and the node's own. */
export function createUsageTable(maxPods: number): SharedArrayBuffer {
  const capacity = maxPods * 10 + 200;
  const buffer = new SharedArrayBuffer(textsOffset(capacity) + nodeTextsTable.bytes(nodeTextsCapacity));
  identities.create(capacity, buffer);
  usage.create(capacity, buffer, identities.bytes(capacity));
  machineTable.create(1, buffer, machineOffset(capacity));
  filesystemTable.create(filesystemCount, buffer, filesystemOffset(capacity));
  nodeFilesystemTable.create(maxNodeFilesystems, buffer, nodeFilesystemOffset(capacity));
  nodeTasksTable.create(1, buffer, tasksOffset(capacity));
  nodeTextsTable.create(nodeTextsCapacity, buffer, textsOffset(capacity));
  return buffer;
}

/** The offsets of the tables in the buffer, each at the end of the one before. */
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

function textsOffset(capacity: number): number {
  return tasksOffset(capacity) + nodeTasksTable.bytes(1);
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

/** The stats thread's view. The writer identifies a cgroup by its row number. */
export class UsageWriter {
  readonly #identities: TableWriter<typeof identityFields>;
  readonly #usage: TableWriter<typeof valueFields>;
  readonly #machine: TableWriter<MachineFields>;
  readonly #nodeFilesystems;
  readonly #tasks: TableWriter<NodeTasksFields>;
  readonly #nodeTexts: NodeTextsWriter;
  /** The rows of the node's own cgroups. */
  readonly #ofNode = new Set<number>();
  /** The rows that an earlier stats thread wrote. */
  #inherited: readonly number[];

  /** Keeps the rows of a predecessor until `dropInherited`. */
  constructor(buffer: SharedArrayBuffer) {
    this.#identities = identities.writer(buffer);
    this.#inherited = Array.from(Array(this.#identities.highWater).keys()).filter((row) => this.#identities.inUse(row));
    const { capacity } = this.#identities;
    this.#usage = usage.writer(buffer, identities.bytes(capacity), Array.from(Array(capacity).keys()));
    this.#machine = machineTable.writer(buffer, machineOffset(capacity), [0]);
    this.#nodeFilesystems = nodeFilesystemTable.writer(buffer, nodeFilesystemOffset(capacity));
    this.#tasks = nodeTasksTable.writer(buffer, tasksOffset(capacity), [0]);
    this.#nodeTexts = new NodeTextsWriter(buffer, textsOffset(capacity));
  }

  /** Frees the rows of a predecessor. Called just before the first sample adds the cgroups again, so that pages show the old rows until then. */
  dropInherited(): void {
    for (const row of this.#inherited.toReversed()) this.#identities.free(row);
    this.#inherited = [];
  }

  get size(): number {
    return this.#identities.used;
  }

  /** Throws RangeError for a text that is too long. */
  setMachine(machine: MachineRow): void {
    this.#machine.put(0, machine);
  }

  /** Replaces all filesystems. Takes at most `maxNodeFilesystems`. */
  setNodeFilesystems(filesystems: readonly NodeFilesystem[]): void {
    for (const [row, filesystem] of filesystems.entries()) this.#nodeFilesystems.put(row, filesystem);
    for (let row = filesystems.length; row < maxNodeFilesystems; row += 1) this.#nodeFilesystems.free(row);
  }

  setTasks(tasks: NodeTasks): void {
    this.#tasks.put(0, tasks);
  }

  /** Throws TableFullError, or RangeError for a text that is too long. The cgroup is visible once it has values. */
  add(identity: CgroupIdentity): number {
    const row = this.#identities.insert({ ...identity, kind: cgroupKinds.indexOf(identity.kind) });
    if (ownerOf(identity.kind) === 'node') this.#ofNode.add(row);
    return row;
  }

  /** Throws RangeError for a text that is too long. */
  put(row: number, values: UsageValues): void {
    const identityVersion = this.#identities.version(row);
    if (!this.#ofNode.has(row)) return this.#usage.put(row, { ...values, identityVersion });
    this.#nodeTexts.put(row, identityVersion, values);
    this.#usage.put(row, { ...values, identityVersion, io: '[]', network: '[]' });
  }

  /** As `put`, but every value that is not given becomes 0 or an empty text. */
  putSparse(row: number, values: Partial<UsageValues>): void {
    this.#usage.putSparse(row, { ...values, identityVersion: this.#identities.version(row) });
  }

  remove(row: number): void {
    if (this.#ofNode.delete(row)) this.#nodeTexts.remove(row);
    this.#identities.free(row);
  }
}

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
  readonly #nodeTexts;
  readonly #decoded: DecodedRows<typeof identityFields, CgroupIdentity>;

  constructor(buffer: SharedArrayBuffer) {
    this.#identities = identities.reader(buffer);
    this.#decoded = new DecodedRows(this.#identities, (row) => ({ ...row, kind: cgroupKinds[row.kind]! }));
    this.#usage = usage.reader(buffer, identities.bytes(this.#identities.capacity));
    this.#numbers = new Float64Array(buffer);
    this.#machine = machineTable.reader(buffer, machineOffset(this.#identities.capacity));
    this.#tasks = nodeTasksTable.reader(buffer, tasksOffset(this.#identities.capacity));
    this.#nodeTexts = nodeTextsTable.reader(buffer, textsOffset(this.#identities.capacity));
    this.#filesystems = filesystemTable.reader(buffer, filesystemOffset(this.#identities.capacity));
    this.#nodeFilesystems = nodeFilesystemTable.reader(buffer, nodeFilesystemOffset(this.#identities.capacity));
  }

  /** Undefined until the filesystem was measured. */
  filesystem(name: keyof typeof filesystemRows): FilesystemRow | undefined {
    return this.#filesystems.read(filesystemRows[name]);
  }

  nodeFilesystems(): NodeFilesystem[] {
    return Array.from(Array(maxNodeFilesystems).keys(), (row) => this.#nodeFilesystems.read(row)).filter((each) => each !== undefined);
  }

  /** Undefined until the stats thread has read the machine. */
  machine(): MachineRow | undefined {
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

  /** As `all`, but only these cgroups. Selecting a few takes a small part of the time. */
  select(isWanted: (identity: CgroupIdentity) => boolean): CgroupUsage[] {
    const found: CgroupUsage[] = [];
    const end = this.#identities.highWater;
    for (let row = 0; row < end; row += 1) {
      const known = this.#decoded.get(row);
      const values = known && isWanted(known.value) ? readUsageValues(this.#usage, this.#numbers, row) : undefined;
      // The row may have changed while it was read: its values then have another version, and are ignored.
      if (!known || values?.identityVersion !== known.version) continue;
      const texts = ownerOf(known.value.kind) === 'node' ? readNodeTexts(this.#nodeTexts, row, known.version) : undefined;
      found.push({ identity: known.value, values: texts ? { ...values, ...texts } : values });
    }
    return found;
  }
}
