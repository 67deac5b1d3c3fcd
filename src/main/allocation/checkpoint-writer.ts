/**
 * Writes checkpoint files durably and in batches: one write at a time, and all changes during a write go into the next one. A file whose content is the
 * same as last time is not written again. A write that fails is repeated until it succeeds.
 */
import { dirname } from 'node:path';
import { replaceAllSynced, syncFolder } from '../../shared/linux/write-durably.ts';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';

/** The delay after a failed write. The disk may be full: eviction tries to free space every ten seconds. */
const retryDelayMs = 10_000;
/**
 * The pauses between successive writes, which collect changes: a hundred resizes that arrive within two seconds need only ten writes. The first two writes
 * of a burst do not wait.
 */
const pausesMs = [0, 0, 40, 80, 160, 320, 450] as const;
/** A write that begins later than this after the end of the last one, and later than after the last pause, begins a new burst. */
const quietMs = 50;

export interface CheckpointWriterOptions {
  /** In the order in which the files are replaced. `encode` returns the current content. */
  readonly files: readonly { readonly path: string; readonly encode: () => string }[];
  /** The message of the log line when a write fails. */
  readonly consequence: string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Tests replace these two. */
  readonly write?: typeof replaceAllSynced;
  readonly sync?: typeof syncFolder;
}

export class CheckpointWriter {
  readonly #options: CheckpointWriterOptions;
  readonly #written = new Map<string, string>();
  #cancelWrite: (() => void) | null = null;
  /** When the scheduled write begins: monotonic ms. */
  #dueAtMs = Infinity;
  /** There are changes since the current write began. */
  #hasChanges = false;
  #isFailing = false;
  #isClosing = false;
  #writing: Promise<void> | null = null;
  /** Monotonic ms. */
  #lastEndMs = -Infinity;
  /** The number of writes since the burst began: the index in `pausesMs`. */
  #successive = 0;
  #endPause: (() => void) | null = null;
  /** Settles with the next write that begins. */
  #waiting = Promise.withResolvers<void>();

  constructor(options: CheckpointWriterOptions) {
    this.#options = options;
    this.#waiting.promise.catch(() => {});
  }

  /** Writes all changes within this time. An earlier write that is pending stays. */
  writeWithin(delayMs: number): void {
    const { clock } = this.#options;
    const atMs = clock.monotonic() + delayMs;
    if (this.#dueAtMs <= atMs) return;
    this.#cancelPending();
    this.#dueAtMs = atMs;
    this.#cancelWrite = clock.after(delayMs, () => {
      this.#cancelPending();
      this.#write();
    });
  }

  /**
   * Resolves when everything that has changed until now outlives the kubelet; rejects with the error of the write. A crash of the host, which also ends all
   * containers, may bring back the old content for some ms.
   */
  flush(): Promise<void> {
    this.#cancelPending();
    const { promise } = this.#waiting;
    this.#write();
    return promise;
  }

  /** Writes pending changes. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#endPause?.();
    if (this.#cancelPending()) this.#write();
    await this.#writing;
  }

  #write(): void {
    this.#hasChanges = true;
    this.#writing ??= this.#writeAll();
  }

  async #writeAll(): Promise<void> {
    const { files, consequence, logger, clock, sync = syncFolder } = this.#options;
    const path = files.at(-1)?.path;
    while (this.#hasChanges) {
      await this.#pause();
      this.#hasChanges = false;
      const waiting = this.#waiting;
      this.#waiting = Promise.withResolvers();
      this.#waiting.promise.catch(() => {});
      try {
        const isChanged = await this.#writeFiles();
        if (this.#isFailing) logger.info({ path }, 'Wrote the checkpoint again');
        this.#isFailing = false;
        waiting.resolve();
        if (isChanged && path !== undefined) await sync(dirname(path)).catch((err: unknown) => logger.error({ path, err }, consequence));
      } catch (err) {
        if (!this.#isFailing) logger.error({ path, err }, consequence);
        this.#isFailing = true;
        waiting.reject(err);
      }
      this.#lastEndMs = clock.monotonic();
    }
    this.#writing = null;
    if (this.#isFailing && !this.#isClosing) this.writeWithin(retryDelayMs);
  }

  /** Waits before a write. Changes that arrive meanwhile, or in this tick, go into that write. */
  async #pause(): Promise<void> {
    const { clock } = this.#options;
    const sinceMs = clock.monotonic() - this.#lastEndMs;
    const isNewBurst = sinceMs > Math.max(quietMs, pausesMs[this.#successive]!);
    this.#successive = isNewBurst ? 0 : Math.min(this.#successive + 1, pausesMs.length - 1);
    const leftMs = pausesMs[this.#successive]! - sinceMs;
    if (leftMs <= 0 || this.#isClosing) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const cancel = clock.after(leftMs, resolve);
    this.#endPause = resolve;
    await promise;
    this.#endPause = null;
    cancel();
  }

  /** Returns whether a file has changed. */
  async #writeFiles(): Promise<boolean> {
    const { files, write = replaceAllSynced } = this.#options;
    const contents = files.map(({ path, encode }) => ({ path, temporary: `${path}.new`, content: encode() }));
    const changed = contents.filter(({ path, content }) => content !== this.#written.get(path));
    if (changed.length === 0) return false;
    await write(changed);
    for (const { path, content } of changed) this.#written.set(path, content);
    return true;
  }

  /** Returns whether a write was pending. */
  #cancelPending(): boolean {
    const isPending = this.#cancelWrite !== null;
    this.#cancelWrite?.();
    this.#cancelWrite = null;
    this.#dueAtMs = Infinity;
    return isPending;
  }
}
