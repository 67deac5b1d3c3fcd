/**
 * A container's log as an open file. The path comes from the runtime, but a pod with a hostPath volume may have replaced the file there.
 * Only a regular file below the pods' log folder is read, after symlinks are resolved. The check applies to the opened file, not to the
 * path.
 */
import { stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { openLog } from '../../../shared/container-logs/open-log.ts';
import { hasWriter } from '../../../shared/linux/file-lease.ts';
import type { CompressedLog } from './compressed-log.ts';
import type { SkippedEntries } from './line-output.ts';
import { findTailStart } from './tail-start.ts';

const blockBytes = 64 * 1024;
/** How much of a compressed log `isSameLog` compares. */
const comparedBytes = 4096;
/** Unused buffers: most reads of a follower return nothing. */
const freeBlocks: Buffer[] = [];
const maxFreeBlocks = 8;

export class LogFile {
  readonly path: string;
  /** The path without symlinks, at the time of the opening. */
  readonly realPath: string;
  readonly #handle: FileHandle;
  readonly #identity: string;
  #position = 0;

  private constructor(path: string, realPath: string, handle: FileHandle, identity: string) {
    this.path = path;
    this.realPath = realPath;
    this.#handle = handle;
    this.#identity = identity;
  }

  /** Rejects with a message that names the path. */
  static async open(path: string, podLogsDir: string): Promise<LogFile> {
    const failed = (cause: unknown) => new Error(`failed to open log file ${goQuote(path)}: ${messageOf(cause)}`, { cause });
    try {
      const { realPath, handle, stats } = await openLog(path, podLogsDir);
      return new LogFile(path, realPath, handle, identityOf(stats));
    } catch (err) {
      throw failed(err);
    }
  }

  /** The folder that contains the file, without symlinks: followers watch this folder for changes. */
  get directory(): string {
    return dirname(this.realPath);
  }

  /** Offset of the next byte to read. */
  get position(): number {
    return this.#position;
  }

  /** Returns the next bytes, null at the current end of the file. */
  async read(): Promise<Buffer | null> {
    const buffer = freeBlocks.pop() ?? Buffer.allocUnsafeSlow(blockBytes);
    const { bytesRead } = await this.#handle.read(buffer, 0, blockBytes, this.#position).catch((err: unknown) => {
      throw new Error(`failed to read log file ${goQuote(this.path)}: ${messageOf(err)}`, { cause: err });
    });
    this.#position += bytesRead;
    if (bytesRead >= blockBytes / 4) return buffer.subarray(0, bytesRead);
    // Copies few bytes, so that a slow client does not keep a whole block in memory.
    const copy = bytesRead === 0 ? null : Buffer.from(buffer.subarray(0, bytesRead));
    if (freeBlocks.length < maxFreeBlocks) freeBlocks.push(buffer);
    return copy;
  }

  /**
   * Seeks to the start of the last lines. Returns how many entries after that start do not belong to these lines. Stops anywhere when the signal
   * aborts.
   */
  async seekTail(lines: number, signal: AbortSignal): Promise<SkippedEntries> {
    const { size } = await this.#handle.stat();
    const readAt = async (position: number, length: number) => {
      const { buffer, bytesRead } = await this.#handle.read(Buffer.allocUnsafeSlow(length), 0, length, position);
      return buffer.subarray(0, bytesRead);
    };
    const { position, skippedEntries } = await findTailStart(readAt, size, lines, signal);
    this.#position = position;
    return skippedEntries;
  }

  /** Rewinds to the start of the file, and returns true, when the file is shorter than the read position (`copytruncate`). */
  async rewindIfTruncated(): Promise<boolean> {
    const { size } = await this.#handle.stat();
    if (size >= this.#position) return false;
    this.#position = 0;
    return true;
  }

  /** Reports whether this file is at the path. */
  async isAt(path: string): Promise<boolean> {
    const now = await stat(path).catch(() => null);
    return now !== null && identityOf(now) === this.#identity;
  }

  /** Reports whether the other file is this one under another name, or its compressed copy: lines have times, so the start of a log is unique. */
  async isSameLog(other: LogFile | CompressedLog): Promise<boolean> {
    if (other instanceof LogFile) return other.#identity === this.#identity;
    const start = await other.peek();
    const { bytesRead, buffer } = await this.#handle.read(Buffer.alloc(Math.min(start.length, comparedBytes)), 0, null, 0);
    return bytesRead > 0 && buffer.subarray(0, bytesRead).equals(start.subarray(0, bytesRead));
  }

  /** Reports whether the runtime may still write to the file; undefined when the file system cannot answer. */
  hasWriter(): boolean | undefined {
    return hasWriter(this.#handle.fd);
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

function identityOf({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`;
}

/** Reports whether `open` failed because there is no file. */
export function isMissing(err: unknown): boolean {
  return err instanceof Error && (err.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
}
