/**
 * Notices that some log may have become large before its next check: its file system has grown by many times the size of a log. A statfs
 * costs 20 µs, a check of 500 logs 24 ms.
 */
import type { Clock } from '../../../shared/time/clock.ts';

export interface FilesystemGrowthOptions {
  /** Reads the used bytes of the logs' file system. Rejects when it can't be read. */
  readonly usedBytes: () => Promise<number>;
  readonly maxSizeBytes: number;
  readonly clock: Clock;
  readonly onGrowth: () => void;
}

/** How often the file system is read. A container that writes 100 MB/s writes 25 MB in this time. */
const periodMs = 250;
/** At most one check of all logs a second, which costs little: writers other than containers may fill the disk all the time. */
const minCheckMs = 1000;
/**
 * The growth that causes a check of all logs, in multiples of containerLogMaxSize. With the defaults of 10 MiB and a check each 10 s, a container that
 * writes 5 MiB/s causes this growth only when the next regular check is due.
 */
const minGrowthSizes = 5;
/** The least growth that causes a check. Writers other than containers mostly write less between two checks. */
const minGrowthBytes = 64 * 1024 * 1024;

export class FilesystemGrowth {
  readonly #options: FilesystemGrowthOptions;
  /** At the last read. Infinity: before the first read, which therefore counts no growth. */
  #usedBytes = Infinity;
  /** The growth since all logs were last checked, and the monotonic time of that check. */
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

  /** Call this when all logs are checked: the growth counts from now on. */
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
      // Files that were removed since the last read hide some growth, but not the growth of the next seconds.
      this.#grownBytes += Math.max(0, usedBytes - this.#usedBytes);
      this.#usedBytes = usedBytes;
    } catch {
      // The regular checks report what is wrong with the folder.
    }
    if (this.#closed) return;
    this.start();
    if (this.#grownBytes < Math.max(minGrowthBytes, minGrowthSizes * maxSizeBytes) || clock.monotonic() < this.#checkedAtMs + minCheckMs)
      return;
    this.reset();
    onGrowth();
  }
}
