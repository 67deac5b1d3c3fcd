/**
 * Compresses rotated logs, one at a time and in the background: a rotation never waits for it. Uses at most half of one core, because
 * containers and the kubelet's file accesses, which share libuv's threads with gzip, come first.
 */
import { constants } from 'node:fs';
import { lstat, open, rename, unlink, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { openLogFolder, type LogFolder } from '../../../shared/kubernetes/open-log-folder.ts';
import { hasWriter } from '../../../shared/linux/file-lease.ts';
import type { Clock } from '../../../shared/time/clock.ts';

export interface LogCompressorOptions {
  readonly podLogsDir: string;
  readonly clock: Clock;
  /** The log stays uncompressed; the next rotation tries again. */
  readonly onError: (path: string, err: unknown) => void;
}

/** The log is read in blocks of this size. gzip itself needs 256 KiB. */
const blockBytes = 128 * 1024;
/** How often the compression of a log looks whether the log still exists. */
const statBytes = 32 * blockBytes;

class RemovedLogError extends Error {}

export class LogCompressor {
  readonly #options: LogCompressorOptions;
  /** The paths of the rotated logs of each log, oldest first. Never an empty list. */
  readonly #queue = new Map<string, readonly string[]>();
  readonly #closing = new AbortController();
  #active: string | null = null;
  #running: Promise<void> = Promise.resolve();

  constructor(options: LogCompressorOptions) {
    this.#options = options;
  }

  /**
   * `rotated` are the paths of all rotated logs of `log` to compress, oldest first. They replace those of its last rotation, some of which are
   * removed meanwhile: otherwise the queue would grow without end when logs are rotated faster than they are compressed.
   */
  add(log: string, rotated: readonly string[]): void {
    if (this.#closing.signal.aborted) return;
    this.#set(
      log,
      rotated.filter((path) => path !== this.#active),
    );
    if (this.#active === null && this.#queue.size > 0) this.#running = this.#run();
  }

  /** Reports whether the archive at this path, ending in `.tmp`, is being written. */
  isInProgress(path: string): boolean {
    return this.#active !== null && path === `${this.#active}.tmp`;
  }

  /** Resolves when no file is being compressed. The queue is lost; the next rotations find these files again. */
  async close(): Promise<void> {
    this.#closing.abort();
    this.#queue.clear();
    await this.#running;
  }

  /** An empty list removes the log. A log that is in the queue keeps its place. */
  #set(log: string, rotated: readonly string[]): void {
    if (rotated.length > 0) this.#queue.set(log, rotated);
    else this.#queue.delete(log);
  }

  /**
   * Logs take turns, so that one that is rotated each second delays no other for long. The newest rotation of a log is first: of such a log,
   * the oldest are removed before they could be compressed.
   */
  #takeNext(): string | undefined {
    for (const [log, rotated] of this.#queue) {
      this.#queue.delete(log);
      this.#set(log, rotated.slice(0, -1));
      return rotated.at(-1);
    }
    return undefined;
  }

  async #run(): Promise<void> {
    for (;;) {
      const path = this.#takeNext();
      if (path === undefined) break;
      this.#active = path;
      try {
        await this.#compress(path);
      } catch (err) {
        if (!this.#closing.signal.aborted && !(err instanceof RemovedLogError)) this.#options.onError(path, err);
      }
    }
    this.#active = null;
  }

  async #compress(path: string): Promise<void> {
    const folder = await openLogFolder(this.#options.podLogsDir, path);
    // The pod is gone.
    if (!folder) return;
    try {
      const source = await open(join(folder.path, folder.log), sourceFlags).catch(ifMissing);
      if (!source) return;
      try {
        await this.#replace(folder, source);
      } finally {
        await source.close();
      }
    } finally {
      await folder.handle.close();
    }
  }

  /** Writes the archive under a temporary name and replaces the log by it. Leaves the log and no archive when it fails. */
  async #replace({ path, log }: LogFolder, source: FileHandle): Promise<void> {
    const stats = await source.stat();
    if (!stats.isFile()) throw new Error('it is not a regular file');
    // The runtime has not reopened its log. What it still writes here would be lost.
    if (hasWriter(source.fd)) throw new Error('it is still being written');
    const temporary = join(path, `${log}.tmp`);
    await unlink(temporary).catch(ifMissing);
    const archive = await open(temporary, archiveFlags, stats.mode & 0o777);
    try {
      try {
        await this.#copy(source, archive);
        // The log is removed below, so the archive must survive a crash of the host.
        await archive.datasync();
      } finally {
        await archive.close();
      }
      const current = await lstat(join(path, log)).catch(ifMissing);
      // A rotation has removed the log meanwhile.
      if (!current) return await unlink(temporary);
      await rename(temporary, join(path, `${log}.gz`));
    } catch (err) {
      await unlink(temporary).catch(ifMissing);
      throw err;
    }
    await unlink(join(path, log));
  }

  async #copy(source: FileHandle, archive: FileHandle): Promise<void> {
    const write = async (blocks: AsyncIterable<Buffer>) => {
      for await (const block of blocks) await archive.appendFile(block);
    };
    await pipeline(this.#read(source), createGzip(), write, { signal: this.#closing.signal });
  }

  /** Rests after each block as long as gzip took for it. */
  async *#read(source: FileHandle): AsyncGenerator<Buffer> {
    const { clock } = this.#options;
    for (let position = 0; ;) {
      // A rotation has removed the log. Its space is free when it is closed.
      if (position % statBytes === 0 && (await source.stat()).nlink === 0) throw new RemovedLogError();
      const { bytesRead, buffer } = await source.read(Buffer.allocUnsafe(blockBytes), 0, blockBytes, position);
      if (bytesRead === 0) return;
      position += bytesRead;
      const startedAtMs = clock.monotonic();
      yield buffer.subarray(0, bytesRead);
      await clock.sleep(clock.monotonic() - startedAtMs);
    }
  }
}

/** Neither a symlink nor a pipe that someone left under the name of a log is followed or waited for. */
const sourceFlags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY;
const archiveFlags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;

function ifMissing(err: NodeJS.ErrnoException): undefined {
  if (err.code !== 'ENOENT') throw err;
}
