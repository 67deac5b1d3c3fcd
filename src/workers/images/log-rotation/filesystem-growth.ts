/**
 * Notices that some log may have become large before its next check: its file system has grown by many times the size of a log. One statfs a
 * second costs 20 µs, a check of 500 logs 24 ms.
 */
import { statfs } from 'node:fs/promises';
import type { Clock } from '../../../shared/time/clock.ts';

export interface FilesystemGrowthOptions {
  /** A file or folder in the file system. */
  readonly path: string;
  readonly maxSizeBytes: number;
  readonly clock: Clock;
  readonly onGrowth: () => void;
}

const periodMs = 1000;
/** In sizes of a log. A writer below a tenth of the default limit a second waits for the next regular check. */
const maxSizes = 10;
/** Other writers cause less than this between two checks, mostly. */
const minGrowthBytes = 64 * 1024 * 1024;

export class FilesystemGrowth {
  readonly #options: FilesystemGrowthOptions;
  #usedBytes = Infinity;
  #grownBytes = 0;
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
  }

  close(): void {
    this.#closed = true;
    this.#cancel();
  }

  async #sample(): Promise<void> {
    const { path, maxSizeBytes, onGrowth } = this.#options;
    try {
      const { blocks, bfree, bsize } = await statfs(path);
      const usedBytes = (blocks - bfree) * bsize;
      // What is removed meanwhile hides some growth, but not that of the next seconds.
      this.#grownBytes += Math.max(0, usedBytes - this.#usedBytes);
      this.#usedBytes = usedBytes;
    } catch {
      // The regular checks report what is wrong with the folder.
    }
    if (this.#closed) return;
    this.start();
    if (this.#grownBytes < Math.max(minGrowthBytes, maxSizes * maxSizeBytes)) return;
    this.reset();
    onGrowth();
  }
}
