/**
 * Asks the runtime for the usage of writable layers that the mount table does not have: with other snapshotters, with CRI-O, or with a runtime in another mount
 * namespace. One call returns the layers of all containers. It costs the runtime milliseconds for each container, so it is made once a minute, and only while
 * there is such a container.
 */
import type { Logger } from '../../../shared/log/logger.ts';
import type { StorageIdentity } from '../../../shared/state/storage-table.ts';
import type { Clock } from '../../../shared/time/clock.ts';

export interface LayerUsage {
  readonly usedBytes: number;
  readonly inodesUsed: number;
}

export interface RuntimeLayersOptions {
  /** The layers of all containers, by container ID. */
  readonly list: () => Promise<ReadonlyMap<string, LayerUsage>>;
  readonly onMeasured: (identity: StorageIdentity, usage: LayerUsage) => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

const periodMs = 60_000;

export class RuntimeLayers {
  readonly #options: RuntimeLayersOptions;
  #listedAtMs = -Infinity;
  #isListing = false;
  #isFailing = false;

  constructor(options: RuntimeLayersOptions) {
    this.#options = options;
  }

  /** @param missing the running containers whose layer is not in the mount table. Never rejects. */
  async measureDue(missing: readonly StorageIdentity[]): Promise<void> {
    const { list, onMeasured, clock, logger } = this.#options;
    if (missing.length === 0 || this.#isListing || clock.monotonic() - this.#listedAtMs < periodMs) return;
    this.#isListing = true;
    this.#listedAtMs = clock.monotonic();
    try {
      const layers = await list();
      for (const identity of missing) {
        const usage = layers.get(identity.containerID);
        if (usage) onMeasured(identity, usage);
      }
      this.#isFailing = false;
    } catch (err) {
      if (!this.#isFailing) logger.warn({ err, retryInMs: periodMs }, 'Can’t get the usage of writable layers from the runtime');
      this.#isFailing = true;
    } finally {
      this.#isListing = false;
    }
  }
}
