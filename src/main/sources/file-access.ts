/**
 * File system calls with a deadline. A manifests folder can be on a network volume whose server is down; each call then occupies one of
 * libuv's few threads until the server returns. A path whose call is overdue is not read again until the call returns, and the number of
 * overdue calls is limited.
 */
import { isUtf8 } from 'node:buffer';
import { constants } from 'node:fs';
import { open, readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../shared/time/clock.ts';
import { maxManifestBytes } from './manifest-source.ts';
import { withDeadline } from './deadline.ts';

/** Much longer than a slow disk needs. */
const deadlineMs = 10_000;
/** libuv has four threads by default: a server that is down may occupy half of them. */
const maxOverdue = 2;
/** A folder with more files is a mistake in the configuration; none of its files is read. */
const maxFolderEntries = 10_000;

/** A file system with less free space counts as full. */
const minFreeBytes = 1024 * 1024;

export interface FileInfo {
  readonly kind: 'file' | 'folder' | 'other';
  readonly changedAtMs: number;
  /** Changes when another file replaces the file. */
  readonly identity: string;
  /** Changes when another file replaces the file, or when the file is written. */
  readonly signature: string;
}

export class FileAccess {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #overdue = new Set<string>();
  /** The bytes of listed paths that are no UTF-8, by the text that stands for them. */
  #bytePaths: ReadonlyMap<string, Buffer> = new Map();

  /** Every call rejects once the signal aborts. */
  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Follows symlinks. Null when the path does not exist. */
  info(path: string): Promise<FileInfo | null> {
    return this.#bounded(path, () => infoOf(this.#toCall(path)));
  }

  /** Returns the names in a folder, sorted, without hidden files. A byte that is no UTF-8 is written as `\xff`; the other calls accept such a name. */
  list(path: string): Promise<string[]> {
    return this.#bounded(path, async () => {
      const names = await readdir(path, { encoding: 'buffer' });
      if (names.length > maxFolderEntries) throw new Error(`${names.length} files, a manifests folder may have ${maxFolderEntries}`);
      const bytePaths = new Map<string, Buffer>();
      const texts = names.map((name) => {
        const text = toText(name);
        if (!isUtf8(name)) bytePaths.set(join(path, text), Buffer.concat([Buffer.from(`${path}/`), name]));
        return text;
      });
      this.#bytePaths = bytePaths;
      return texts.filter((name) => !name.startsWith('.')).sort();
    });
  }

  #toCall(path: string): string | Buffer {
    return this.#bytePaths.get(path) ?? path;
  }

  /** Returns the content of a regular file. Rejects from 10 MB on: by the size before the read, and while the file grows. */
  read(path: string): Promise<Uint8Array> {
    return this.#bounded(path, () => readFile(this.#toCall(path)));
  }

  /** Returns whether the file's file system has no space for a manifest. */
  isFull(path: string): Promise<boolean> {
    return this.#bounded(path, async () => {
      const { bavail, bsize, files, ffree } = await statfs(this.#toCall(path));
      return bavail * bsize < minFreeBytes || (files > 0 && ffree === 0);
    });
  }

  async #bounded<T>(path: string, call: () => Promise<T>): Promise<T> {
    if (this.#overdue.has(path)) throw new Error('an earlier call to the file system has still not returned');
    if (this.#overdue.size >= maxOverdue) throw new Error(`not read: ${this.#overdue.size} calls to the file system have not returned`);
    const pendingCall = call();
    const deadlineError = new Error(`the file system did not answer within ${deadlineMs / 1000} s`);
    let settled = false;
    const onSettled = () => {
      settled = true;
      this.#overdue.delete(path);
    };
    pendingCall.then(onSettled, onSettled);
    try {
      return await withDeadline(pendingCall, deadlineMs, deadlineError, this.#clock, this.#signal);
    } catch (err) {
      if (err === deadlineError && !settled) this.#overdue.add(path);
      throw err;
    }
  }
}

/** In a name that is no UTF-8, writes each byte outside of ASCII as `\xff`, also the bytes of valid characters. */
function toText(name: Buffer): string {
  if (isUtf8(name)) return name.toString();
  return name.toString('latin1').replaceAll(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}

async function infoOf(path: string | Buffer): Promise<FileInfo | null> {
  try {
    const stats = await stat(path, { bigint: true });
    const identity = `${stats.dev}:${stats.ino}`;
    return {
      kind: stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : 'other',
      changedAtMs: Number(stats.ctimeNs / 1_000_000n),
      identity,
      // Tools that restore a file's times reset mtime, but not ctime.
      signature: `${identity}:${stats.size}:${stats.mtimeNs}:${stats.ctimeNs}`,
    };
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw err;
  }
}

async function readFile(path: string | Buffer): Promise<Uint8Array> {
  // Without O_NONBLOCK, the open of a named pipe waits for a writer.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await handle.stat();
    if (!stats.isFile()) throw new Error('not a regular file');
    if (stats.size >= maxManifestBytes) throw tooLarge(`${stats.size} bytes`);
    const chunks: Buffer[] = [];
    let total = 0;
    for (;;) {
      // A growing file is larger than its size; one byte over the limit is enough to reject it.
      const buffer = Buffer.allocUnsafe(Math.min(Math.max(stats.size - total, 0) + 1, maxManifestBytes - total));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length);
      // Copies: small buffers share one ArrayBuffer, and a transfer to the pool would take the whole ArrayBuffer.
      if (bytesRead === 0) return new Uint8Array(Buffer.concat(chunks, total));
      total += bytesRead;
      if (total >= maxManifestBytes) throw tooLarge('it grew while it was read');
      chunks.push(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}

function tooLarge(reason: string): Error {
  return new Error(`too large for a manifest: ${reason}, the limit is ${maxManifestBytes}`);
}
