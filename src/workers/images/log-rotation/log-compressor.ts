/**
 * Compresses rotated logs in the background: a rotation never waits for it. Uses at most half a core per worker, because containers and the
 * kubelet's file accesses, which share libuv's threads with gzip, come first.
 */
import type { Clock } from '../../../shared/time/clock.ts';
import { compressLog, RemovedLogError } from './compress-log.ts';
import { CompressionQueue, type CompressionClass, type RotatedLog } from './compression-queue.ts';

export interface LogCompressorOptions {
  readonly podLogsDir: string;
  /** containerLogMaxSize */
  readonly maxSizeBytes: number;
  /** containerLogMaxWorkers */
  readonly workers: number;
  readonly clock: Clock;
  /** The log stays uncompressed; the next rotation tries again. */
  readonly onError: (path: string, err: unknown) => void;
}

/** The kubelet's file accesses have the other threads of libuv (16 in all). */
const maxParallel = 8;

export class LogCompressor {
  readonly #options: LogCompressorOptions;
  /** The most compressions of one class at a time. */
  readonly #parallel: number;
  readonly #queue: CompressionQueue;
  readonly #closing = new AbortController();
  /** By the path of the rotated log. */
  readonly #active = new Map<string, { readonly kind: CompressionClass; readonly ended: Promise<void> }>();

  constructor(options: LogCompressorOptions) {
    this.#options = options;
    this.#parallel = Math.min(Math.max(1, options.workers), maxParallel);
    this.#queue = new CompressionQueue(options.maxSizeBytes);
  }

  /**
   * `rotated` are all rotated logs of `log` to compress, oldest first. They replace the waiting ones of an earlier rotation, which may be removed by now.
   * Otherwise the queue would grow without end when logs are rotated faster than they are compressed.
   */
  add(log: string, rotated: readonly RotatedLog[]): void {
    if (this.#closing.signal.aborted) return;
    this.#queue.set(
      log,
      rotated.filter(({ path }) => !this.#active.has(path)),
    );
    this.#startNext();
  }

  /** Reports whether the archive at this path, ending in `.tmp`, is being written. */
  isInProgress(path: string): boolean {
    return path.endsWith('.tmp') && this.#active.has(path.slice(0, -'.tmp'.length));
  }

  /** Resolves when no file is being compressed. The queue is lost; the next rotations find these files again. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#queue.clear();
    await Promise.all(Array.from(this.#active.values(), ({ ended }) => ended));
  }

  /** Each class runs at most `#parallel` compressions, and both together one more: so neither class can block the other. */
  #startNext(): void {
    for (const kind of ['usual', 'large'] as const) {
      for (;;) {
        const running = this.#active.values().reduce((count, active) => count + Number(active.kind === kind), 0);
        if (running >= this.#parallel || this.#active.size > this.#parallel) break;
        const path = this.#queue.take(kind);
        if (path === undefined) break;
        this.#active.set(path, { kind, ended: this.#compress(path) });
      }
    }
  }

  async #compress(path: string): Promise<void> {
    const { podLogsDir, clock, onError } = this.#options;
    const { signal } = this.#closing;
    // All n compressions together use at most half a core per worker: n · took / (took + pause) = parallel / 2 gives pause = took · (2n / parallel − 1).
    // `tookMs` is the time that gzip took for the last block.
    const rest = (tookMs: number) => clock.sleep(tookMs * Math.max(1, (2 * this.#active.size) / this.#parallel - 1));
    try {
      await compressLog(path, { podLogsDir, signal, clock, rest });
    } catch (err) {
      if (!signal.aborted && !(err instanceof RemovedLogError)) onError(path, err);
    }
    this.#active.delete(path);
    this.#startNext();
  }
}
