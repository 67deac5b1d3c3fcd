/**
 * Maps the mounted volumes of pods to their PersistentVolumeClaims: one row for each volume that comes from a claim. Main writes the rows. The server thread shows
 * the claim with the volume's usage: the usage is in the storage table, which knows a volume only by its folder.
 */
import type { PodUID } from '../kubernetes/ids.ts';
import { boundedText, type Row } from './table-layout.ts';
import { defineTable, TableFullError, type TableReader, type TableWriter } from './typed-table.ts';

const fields = {
  podUID: boundedText<PodUID>(128),
  /** The name of the plugin's folder: `kubernetes.io~csi`. */
  plugin: boundedText(64),
  /** The name of the volume's folder. */
  folder: boundedText(253),
  /** The volume's name in the pod. */
  volume: boundedText(63),
  namespace: boundedText(63),
  claim: boundedText(253),
};

export type ClaimedVolumeRow = Row<typeof fields>;

const table = defineTable('claimed-volumes', fields);

/** The capacity: four claims for each pod on average, and 1000 more. */
const rowsPerPod = 4;
const sharedRows = 1000;

export function createClaimedVolumesTable(maxPods: number): SharedArrayBuffer {
  return table.create(maxPods * rowsPerPod + sharedRows);
}

/** Main's view. */
export class ClaimedVolumesWriter {
  readonly #table: TableWriter<typeof fields>;
  /** Row numbers by pod and by the volume's name. */
  readonly #rows = new Map<PodUID, Map<string, number>>();

  constructor(buffer: SharedArrayBuffer) {
    this.#table = table.writer(buffer);
  }

  /** Adds a row. Without a free row, and for names that are too long, adds none: the volume is then shown without its claim. */
  put(row: ClaimedVolumeRow): void {
    const ofPod = this.#rows.get(row.podUID) ?? new Map<string, number>();
    if (ofPod.has(row.volume)) return;
    try {
      ofPod.set(row.volume, this.#table.insert(row));
      this.#rows.set(row.podUID, ofPod);
    } catch (err) {
      if (!(err instanceof TableFullError || err instanceof RangeError)) throw err;
    }
  }

  /** Idempotent. */
  removePod(podUID: PodUID): void {
    for (const row of this.#rows.get(podUID)?.values() ?? []) this.#table.free(row);
    this.#rows.delete(podUID);
  }
}

export class ClaimedVolumesReader {
  readonly #table: TableReader<typeof fields>;

  constructor(buffer: SharedArrayBuffer) {
    this.#table = table.reader(buffer);
  }

  all(): Map<PodUID, ClaimedVolumeRow[]> {
    const pods = new Map<PodUID, ClaimedVolumeRow[]>();
    for (let index = 0; index < this.#table.highWater; index += 1) {
      const row = this.#table.read(index);
      if (row) pods.set(row.podUID, [...(pods.get(row.podUID) ?? []), row]);
    }
    return pods;
  }
}
