/**
 * Which claims the mounted volumes of pods belong to: one row for each volume of a pod that is a claim's. Main writes the rows, the server thread shows them with the
 * usage of the volumes, whose rows in the storage table have the names of folders.
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

const rowsPerPod = 4;
const sharedRows = 1000;

export function createClaimedVolumesTable(maxPods: number): SharedArrayBuffer {
  return table.create(maxPods * rowsPerPod + sharedRows);
}

/** Main's view. */
export class ClaimedVolumesWriter {
  readonly #table: TableWriter<typeof fields>;
  readonly #rows = new Map<PodUID, Map<string, number>>();

  constructor(buffer: SharedArrayBuffer) {
    this.#table = table.writer(buffer);
  }

  /** A volume for which there is no row, or whose names are too long, is shown without its claim. */
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
