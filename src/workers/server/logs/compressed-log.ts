/** A rotated log that is compressed. It is read once, from its start, and only as far as the reader asks. */
import type { FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { createGunzip, type Gunzip } from 'node:zlib';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { goQuote } from '../../../shared/kubernetes/go-text.ts';
import { openLog } from '../../../shared/container-logs/open-log.ts';

const blockBytes = 64 * 1024;

export class CompressedLog {
  readonly path: string;
  readonly #handle: FileHandle;
  readonly #gunzip: Gunzip;
  readonly #blocks: AsyncIterator<Buffer>;
  readonly #ended: Promise<void>;
  /** The block that `peek` has read and `read` has not returned yet. */
  #peeked: Buffer | null = null;

  private constructor(path: string, handle: FileHandle) {
    this.path = path;
    this.#handle = handle;
    this.#gunzip = createGunzip();
    // The iterator `#blocks` reports the failure.
    this.#ended = pipeline(readBlocks(handle), this.#gunzip).catch(() => {});
    this.#blocks = this.#gunzip[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
  }

  /** Rejects with a message that names the path, and the system's error as its cause. */
  static async open(path: string, podLogsDir: string): Promise<CompressedLog> {
    try {
      return new CompressedLog(path, (await openLog(path, podLogsDir)).handle);
    } catch (err) {
      throw new Error(`failed to open log file ${goQuote(path)}: ${messageOf(err)}`, { cause: err });
    }
  }

  /** Returns the first block; `read` still returns it. Empty for an empty log. */
  async peek(): Promise<Buffer> {
    this.#peeked ??= (await this.read()) ?? Buffer.alloc(0);
    return this.#peeked;
  }

  /** Returns the next bytes, null at the end. */
  async read(): Promise<Buffer | null> {
    const peeked = this.#peeked;
    this.#peeked = null;
    if (peeked && peeked.length > 0) return peeked;
    const { done, value } = await this.#blocks.next().catch((err: unknown) => {
      throw new Error(`failed to read log file ${goQuote(this.path)}: ${messageOf(err)}`, { cause: err });
    });
    return done ? null : value;
  }

  async close(): Promise<void> {
    this.#gunzip.destroy();
    await this.#ended;
    await this.#handle.close();
  }
}

async function* readBlocks(handle: FileHandle): AsyncGenerator<Buffer> {
  for (let position = 0; ;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(blockBytes), 0, blockBytes, position);
    if (bytesRead === 0) return;
    position += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}
