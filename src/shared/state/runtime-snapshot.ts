/**
 * What the runtime has, a row for each sandbox and container: written by the pleg thread with each relist, read by who collects
 * garbage (images), measures (stats) or shows (server). Only what a list says; a pod's full status goes to main as a message.
 */
import type { ContainerID, PodUID, SandboxID } from '../kubernetes/ids.ts';
import { f64, text, u32, u8, type Row } from './table-layout.ts';
import { defineTable, TableFullError, type TableReader, type TableWriter } from './typed-table.ts';

const fields = {
  /** An index into `snapshotKinds`. */
  kind: u8,
  /** An index into `snapshotStates`. A sandbox that is ready counts as running, one that is not as exited, as upstream. */
  state: u8,
  attempt: u32,
  /** Wall-clock ms. */
  createdAtMs: f64,
  id: text<ContainerID | SandboxID>(128),
  /** Of a sandbox: its own ID. */
  sandboxID: text<SandboxID>(128),
  /** A static pod's UID may be given in its manifest: longer than the 36 characters of the API server's. */
  podUID: text<PodUID>(128),
  podName: text(253),
  podNamespace: text(63),
  /** Empty for a sandbox. */
  containerName: text(63),
};
const relistFields = {
  /** Monotonic ms at which the newest relist began whose items are all here; 0: none yet, so what is missing says nothing. */
  relistedAtMs: f64,
};

export const snapshotKinds = ['sandbox', 'container'] as const;
export const snapshotStates = ['created', 'running', 'exited', 'unknown'] as const;
export type SnapshotKind = (typeof snapshotKinds)[number];
export type SnapshotState = (typeof snapshotStates)[number];

export interface SnapshotItem extends Omit<Row<typeof fields>, 'kind' | 'state'> {
  readonly kind: SnapshotKind;
  readonly state: SnapshotState;
}

const items = defineTable('runtime-snapshot', fields);
const relists = defineTable('runtime-snapshot-relists', relistFields);

/** Room for ten items a pod: sandbox, containers, and their dead predecessors; and for pods that end while others start. */
export function createRuntimeSnapshot(maxPods: number): SharedArrayBuffer {
  const capacity = maxPods * 10 + 200;
  const buffer = new SharedArrayBuffer(relists.bytes(1) + items.bytes(capacity));
  relists.create(1, buffer);
  items.create(capacity, buffer, relists.bytes(1));
  return buffer;
}

/** The pleg thread's half. A row number is the writer's handle to an item. */
export class RuntimeSnapshotWriter {
  readonly #items: TableWriter<typeof fields>;
  readonly #relists: TableWriter<typeof relistFields>;

  /** Rows that a predecessor left. */
  #inherited: readonly number[];

  /** What a predecessor left stays until `dropInherited`; that it is no complete list is said at once. */
  constructor(buffer: SharedArrayBuffer) {
    this.#relists = relists.writer(buffer, 0, [0]);
    this.#relists.put(0, { relistedAtMs: 0 });
    this.#items = items.writer(buffer, relists.bytes(1));
    this.#inherited = Array.from(Array(this.#items.highWater).keys()).filter((row) => this.#items.inUse(row));
  }

  /** Frees what a predecessor left, for a list of one's own. Answers with the pods of which it knew; with none the second time. */
  dropInherited(): Set<PodUID> {
    const rows = this.#inherited;
    this.#inherited = [];
    const pods = new Set(rows.map((row) => this.#items.peek(row, 'podUID')));
    for (const row of rows.toReversed()) this.#items.free(row);
    return pods;
  }

  get capacity(): number {
    return this.#items.capacity;
  }

  get size(): number {
    return this.#items.used;
  }

  /** The item's row; undefined when the table is full. Throws RangeError, naming the field, when a text is longer than its column. */
  add(item: SnapshotItem): number | undefined {
    try {
      return this.#items.insert({ ...item, kind: snapshotKinds.indexOf(item.kind), state: snapshotStates.indexOf(item.state) });
    } catch (err) {
      if (err instanceof TableFullError) return undefined;
      throw err;
    }
  }

  setState(row: number, state: SnapshotState): void {
    this.#items.update(row, { state: snapshotStates.indexOf(state) });
  }

  remove(row: number): void {
    this.#items.free(row);
  }

  setRelistedAt(relistedAtMs: number): void {
    this.#relists.update(0, { relistedAtMs });
  }
}

/** Anyone's half. */
export class RuntimeSnapshotReader {
  readonly #items: TableReader<typeof fields>;
  readonly #relists: TableReader<typeof relistFields>;

  constructor(buffer: SharedArrayBuffer) {
    this.#relists = relists.reader(buffer);
    this.#items = items.reader(buffer, relists.bytes(1));
  }

  /** Monotonic ms at which the newest complete relist began; 0: none yet, and an absent item may well exist. */
  get relistedAtMs(): number {
    return this.#relists.get(0, 'relistedAtMs') ?? 0;
  }

  /** Every sandbox and container, in no order; each as it was at one moment, though not all at the same. */
  *all(): Generator<SnapshotItem> {
    for (const [, row] of this.#items.rows()) yield { ...row, kind: snapshotKinds[row.kind]!, state: snapshotStates[row.state]! };
  }

  /** How many items there are, without reading them. */
  get size(): number {
    return this.#items.used;
  }
}
