/**
 * Notices that some log may have become large before its next check: its file system has grown by many times the size of a log. A statfs
 * costs 20 µs, a check of 500 logs 24 ms.
 */
import type { Clock } from '../../../shared/time/clock.ts';

export interface FilesystemGrowthOptions {
  /** Of the file system of the logs. Rejects when they can't be read. */
  readonly usedBytes: () => Promise<number>;
  readonly maxSizeBytes: number;
  readonly clock: Clock;
  readonly onGrowth: () => void;
}

/** A container that writes 100 MB/s writes 25 MB in it. */
const periodMs = 250;
/** Other writers may fill the disk as fast: a check of all logs a second costs little. */
const minCheckMs = 1000;
/** In sizes of a log. A writer of half the default limit a second waits for the next regular check. */
const maxSizes = 5;
/** Other writers cause less than this between two checks, mostly. */
const minGrowthBytes = 64 * 1024 * 1024;

export class FilesystemGrowth {
  readonly #options: FilesystemGrowthOptions;
  #usedBytes = Infinity;
  #grownBytes = 0;
  #checkedAtMs = 0;
  #cancel: () => void = () => {};
  #closed = false;

  constructor(options: FilesystemGrowthOptions) {
    this.#options = options;
  }

  start(): void {
    this.#cancel = this.#options.clock.after(periodMs, () => void this.#sample());
  }

  /** Counts from now on: all logs are checked. */
  reset(): void {
    this.#grownBytes = 0;
    this.#checkedAtMs = this.#options.clock.monotonic();
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  async #sample(): Promise<void> {
    const { maxSizeBytes, clock, onGrowth } = this.#options;
    try {
      const usedBytes = await this.#options.usedBytes();
      // What is removed meanwhile hides some growth, but not that of the next seconds.
      this.#grownBytes += Math.max(0, usedBytes - this.#usedBytes);
      this.#usedBytes = usedBytes;
    } catch {
      // The regular checks report what is wrong with the folder.
    }
    if (this.#closed) return;
    this.start();
    if (this.#grownBytes < Math.max(minGrowthBytes, maxSizes * maxSizeBytes) || clock.monotonic() < this.#checkedAtMs + minCheckMs) return;
    this.reset();
    onGrowth();
  }
}
