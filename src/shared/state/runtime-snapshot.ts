/**
 * The runtime's sandboxes and containers, one row each. The pleg thread writes them with each relist; the images thread (garbage collection), the stats
 * thread and the server thread read them. The rows have only what the runtime's lists have; main gets the full status of a pod in a message.
 */
import type { ContainerID, PodUID, SandboxID } from '../kubernetes/ids.ts';
import { f64, boundedText, u32, u8, type Row } from './table-layout.ts';
import { defineTable, TableFullError, type TableReader, type TableWriter } from './typed-table.ts';

export const maxImageBytes = 512;

const fields = {
  /** An index into `snapshotKinds`. */
  kind: u8,
  /** An index into `snapshotStates`. As in upstream, a ready sandbox is running and any other sandbox is exited. */
  state: u8,
  attempt: u32,
  /** Wall-clock ms. */
  createdAtMs: f64,
  id: boundedText<ContainerID | SandboxID>(128),
  /** For a sandbox its own ID. */
  sandboxID: boundedText<SandboxID>(128),
  /** A static pod's manifest may set a UID that is longer than the API server's 36 characters. */
  podUID: boundedText<PodUID>(128),
  podName: boundedText(253),
  podNamespace: boundedText(63),
  /** Empty for a sandbox. */
  containerName: boundedText(63),
  /** For a container the image in the pod's spec; for a sandbox its own image, from some seconds after its start. Empty: not known, or longer than the column. */
  image: boundedText(maxImageBytes),
};
const relistFields = {
  /** Monotonic ms at which the last complete relist began. 0: none yet, so an item that is missing here may exist. */
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

/** Ten rows per pod, for its sandbox, its containers and their dead predecessors, and 200 more for terminating pods above the maximum. */
export function createRuntimeSnapshot(maxPods: number): SharedArrayBuffer {
  const capacity = maxPods * 10 + 200;
  const buffer = new SharedArrayBuffer(relists.bytes(1) + items.bytes(capacity));
  relists.create(1, buffer);
  items.create(capacity, buffer, relists.bytes(1));
  return buffer;
}

/** The pleg thread's view. The writer identifies an item by its row number. */
export class RuntimeSnapshotWriter {
  readonly #items: TableWriter<typeof fields>;
  readonly #relists: TableWriter<typeof relistFields>;

  /** The rows that an earlier pleg thread wrote. */
  #inherited: readonly number[];

  /** Keeps the rows of a predecessor until `dropInherited`, but marks the list as incomplete. */
  constructor(buffer: SharedArrayBuffer) {
    this.#relists = relists.writer(buffer, 0, [0]);
    this.#relists.put(0, { relistedAtMs: 0 });
    this.#items = items.writer(buffer, relists.bytes(1));
    this.#inherited = Array.from(Array(this.#items.highWater).keys()).filter((row) => this.#items.inUse(row));
  }

  /** Frees the rows of a predecessor. Returns the pods that they belonged to; a second call returns none. */
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

  /** Returns the item's row, or undefined when the table is full. Throws RangeError with the field's name when a text is longer than its column. */
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

  setImage(row: number, image: string): void {
    if (this.#items.peek(row, 'image') !== image) this.#items.update(row, { image });
  }

  remove(row: number): void {
    this.#items.free(row);
  }

  setRelistedAt(relistedAtMs: number): void {
    this.#relists.update(0, { relistedAtMs });
  }
}

/** The view of all other threads. In the buffer, the one row of `relists` comes before the items. */
export class RuntimeSnapshotReader {
  readonly #items: TableReader<typeof fields>;
  readonly #relists: TableReader<typeof relistFields>;

  constructor(buffer: SharedArrayBuffer) {
    this.#relists = relists.reader(buffer);
    this.#items = items.reader(buffer, relists.bytes(1));
  }

  /** Monotonic ms at which the last complete relist began. 0: none yet, so an item that is missing here may exist. */
  get relistedAtMs(): number {
    return this.#relists.get(0, 'relistedAtMs') ?? 0;
  }

  /** Yields every sandbox and container, in no particular order. Each row is consistent; different rows may be from different moments. */
  *all(): Generator<SnapshotItem> {
    for (const [, row] of this.#items.rows()) yield { ...row, kind: snapshotKinds[row.kind]!, state: snapshotStates[row.state]! };
  }

  /** The number of items. Reads no rows. */
  get size(): number {
    return this.#items.used;
  }
}
