/**
 * A container's log as an open file. The path comes from the runtime, but what lies there may have been changed by whoever can write
 * to the log folder (a pod with a hostPath): only a regular file below the pods' log folder is read, wherever links lead. What counts
 * is the file that was opened, not the path that was asked for.
 */
import { stat, type FileHandle } from 'node:fs/promises';
import { dirname } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { openLog } from '../../../shared/kubernetes/open-log.ts';

const blockBytes = 64 * 1024;
/** Blocks that came back unused: most reads of a follower find nothing. */
const spares: Buffer[] = [];
const maxSpares = 8;

export class LogFile {
  readonly path: string;
  /** The folder in which it truly lies: where its changes are seen. */
  readonly directory: string;
  readonly #handle: FileHandle;
  readonly #identity: string;
  #position = 0;

  private constructor(path: string, directory: string, handle: FileHandle, identity: string) {
    this.path = path;
    this.directory = directory;
    this.#handle = handle;
    this.#identity = identity;
  }

  /** Rejects with a message that names the path. */
  static async open(path: string, podLogsDir: string): Promise<LogFile> {
    const failed = (cause: unknown) => new Error(`failed to open log file ${goQuote(path)}: ${messageOf(cause)}`, { cause });
    try {
      const { realPath, handle, stats } = await openLog(path, podLogsDir);
      return new LogFile(path, dirname(realPath), handle, identityOf(stats));
    } catch (err) {
      throw failed(err);
    }
  }

  /** How far it was read. */
  get position(): number {
    return this.#position;
  }

  /** The next bytes; null at the end of what is there. */
  async read(): Promise<Buffer | null> {
    const buffer = spares.pop() ?? Buffer.allocUnsafeSlow(blockBytes);
    const { bytesRead } = await this.#handle.read(buffer, 0, blockBytes, this.#position).catch((err: unknown) => {
      throw new Error(`failed to read log file ${goQuote(this.path)}: ${messageOf(err)}`, { cause: err });
    });
    this.#position += bytesRead;
    if (bytesRead >= blockBytes / 4) return buffer.subarray(0, bytesRead);
    // A few bytes must not hold a whole block for as long as a client takes to read them.
    const few = bytesRead === 0 ? null : Buffer.from(buffer.subarray(0, bytesRead));
    if (spares.length < maxSpares) spares.push(buffer);
    return few;
  }

  /**
   * Goes to the start of the n-th line before the end, in blocks from there; one without its newline yet is not counted. Upstream:
   * findTailLineStartIndex.
   */
  async seekTail(lines: number): Promise<void> {
    const { size } = await this.#handle.stat();
    let newlinesToPass = lines + 1;
    const buffer = Buffer.allocUnsafeSlow(blockBytes);
    for (let right = size; right > 0;) {
      const left = Math.max(0, right - blockBytes);
      const { bytesRead } = await this.#handle.read(buffer, 0, right - left, left);
      for (let at = bytesRead; at > 0;) {
        at = buffer.lastIndexOf(0x0a, at - 1);
        if (at < 0) break;
        newlinesToPass -= 1;
        if (newlinesToPass === 0) {
          this.#position = left + at + 1;
          return;
        }
      }
      right = left;
    }
    this.#position = 0;
  }

  /** True once after the file was cut shorter than was read (`copytruncate`): reading goes on at its start. */
  async rewindIfTruncated(): Promise<boolean> {
    const { size } = await this.#handle.stat();
    if (size >= this.#position) return false;
    this.#position = 0;
    return true;
  }

  /** Whether another file has taken its path (rotation). While there is none, the old one may still be written. */
  async isReplaced(): Promise<boolean> {
    const now = await stat(this.path).catch(() => null);
    return now !== null && identityOf(now) !== this.#identity;
  }

  close(): Promise<void> {
    return this.#handle.close();
  }
}

function identityOf({ dev, ino }: { readonly dev: number; readonly ino: number }): string {
  return `${dev}:${ino}`;
}

/** Whether `open` found no file at the path. */
export function isMissing(err: unknown): boolean {
  return err instanceof Error && (err.cause as NodeJS.ErrnoException | undefined)?.code === 'ENOENT';
}
