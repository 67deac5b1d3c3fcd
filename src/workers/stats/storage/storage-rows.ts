/** Writes the rows of the storage table. A row that finds no place is left out; the first one is logged. */
import type { Logger } from '../../../shared/log/logger.ts';
import { StorageWriter, type StorageIdentity, type StorageValues } from '../../../shared/state/storage-table.ts';
import { TableFullError } from '../../../shared/state/typed-table.ts';

const unknownFilesystem = { capacityBytes: NaN, availableBytes: NaN, inodes: NaN, inodesFree: NaN } as const;

export class StorageRows {
  readonly #table: StorageWriter;
  readonly #logger: Logger;
  #wantedKeys = new Set<string>();
  #hasRefused = false;

  constructor(storage: SharedArrayBuffer, logger: Logger) {
    this.#table = new StorageWriter(storage);
    this.#logger = logger;
  }

  /** Removes all rows but these. `put` ignores all others from now on. */
  retain(identities: Iterable<StorageIdentity>): void {
    this.#wantedKeys = new Set(Array.from(identities, keyOf));
    for (const identity of this.#table.identities()) if (!this.#wantedKeys.has(keyOf(identity))) this.#table.remove(identity);
  }

  put(identity: StorageIdentity, values: Pick<StorageValues, 'readAtMs' | 'usedBytes' | 'inodesUsed'> & Partial<StorageValues>): void {
    // A measurement may end after its pod has gone.
    if (!this.#wantedKeys.has(keyOf(identity))) return;
    try {
      this.#table.put(identity, { ...unknownFilesystem, isMountPoint: false, isLowerBound: false, ...values });
    } catch (err) {
      // RangeError: a text is longer than its column.
      if (!(err instanceof TableFullError || err instanceof RangeError)) throw err;
      if (!this.#hasRefused)
        this.#logger.error({ err, podUID: identity.podUID, name: identity.name }, 'Can’t store the disk usage of a pod');
      this.#hasRefused = true;
    }
  }
}

function keyOf({ kind, podUID, name, plugin, containerID }: StorageIdentity): string {
  return [kind, podUID, name, plugin, containerID].join('\0');
}
