/**
 * File calls that may never return. A manifests folder may lie on a network volume whose server died; each such call then holds one of
 * libuv's few threads for good. So a call has a deadline, one that missed it is not repeated until it returns, and only few may be out.
 */
import { constants } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import type { Clock } from '../../shared/time/clock.ts';
import { maxManifestBytes } from './manifest-source.ts';
import { withDeadline } from './deadline.ts';

/** Far over what a slow disk needs. */
const deadlineMs = 10_000;
/** libuv has four threads: half of them are not for a dead server. */
const maxOverdue = 2;
/** A folder with more is no manifests folder; nothing of it is read. */
const maxFolderEntries = 10_000;

export interface FileInfo {
  readonly kind: 'file' | 'folder' | 'other';
  readonly changedAtMs: number;
  /** Differs when the file is another one. */
  readonly identity: string;
  /** Differs when the file is another, or was written to. */
  readonly signature: string;
}

export class FileAccess {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  readonly #overdue = new Set<string>();

  /** Once the signal aborts, nothing is waited for. */
  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  /** Follows symlinks. Null when nothing is there. */
  info(path: string): Promise<FileInfo | null> {
    return this.#bounded(path, () => infoOf(path));
  }

  /** Names in a folder, sorted, without the hidden ones. */
  list(path: string): Promise<string[]> {
    return this.#bounded(path, async () => {
      const names = await readdir(path);
      if (names.length > maxFolderEntries) throw new Error(`${names.length} files, a manifests folder may have ${maxFolderEntries}`);
      return names.filter((name) => !name.startsWith('.')).sort();
    });
  }

  /** A regular file's bytes. Refused from 10 MB on: by its size before it is read, and by what it turns out to hold. */
  read(path: string): Promise<Uint8Array> {
    return this.#bounded(path, () => readWhole(path));
  }

  async #bounded<T>(path: string, call: () => Promise<T>): Promise<T> {
    if (this.#overdue.has(path)) throw new Error('an earlier call to the file system has still not returned');
    if (this.#overdue.size >= maxOverdue) throw new Error(`not read: ${this.#overdue.size} calls to the file system have not returned`);
    const running = call();
    const late = new Error(`the file system did not answer within ${deadlineMs / 1000} s`);
    let settled = false;
    const ended = () => {
      settled = true;
      this.#overdue.delete(path);
    };
    running.then(ended, ended);
    try {
      return await withDeadline(running, deadlineMs, late, this.#clock, this.#signal);
    } catch (err) {
      if (err === late && !settled) this.#overdue.add(path);
      throw err;
    }
  }
}

async function infoOf(path: string): Promise<FileInfo | null> {
  try {
    const found = await stat(path, { bigint: true });
    const identity = `${found.dev}:${found.ino}`;
    return {
      kind: found.isFile() ? 'file' : found.isDirectory() ? 'folder' : 'other',
      changedAtMs: Number(found.ctimeNs / 1_000_000n),
      identity,
      // ctime too: tools that restore a file's times leave mtime as it was.
      signature: `${identity}:${found.size}:${found.mtimeNs}:${found.ctimeNs}`,
    };
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw err;
  }
}

async function readWhole(path: string): Promise<Uint8Array> {
  // Not blocking: a named pipe that took the file's place must not wait for its writer.
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw new Error('not a regular file');
    if (found.size >= maxManifestBytes) throw tooLarge(`${found.size} bytes`);
    const chunks: Buffer[] = [];
    let total = 0;
    for (;;) {
      // The size says nothing of a file that is growing; one byte over the limit is enough to know.
      const buffer = Buffer.allocUnsafe(Math.min(Math.max(found.size - total, 0) + 1, maxManifestBytes - total));
      const { bytesRead } = await handle.read(buffer, 0, buffer.length);
      // A copy of its own: small buffers are cut from a shared one, which would go to the pool as a whole.
      if (bytesRead === 0) return new Uint8Array(Buffer.concat(chunks, total));
      total += bytesRead;
      if (total >= maxManifestBytes) throw tooLarge('it grew while it was read');
      chunks.push(buffer.subarray(0, bytesRead));
    }
  } finally {
    await handle.close();
  }
}

function tooLarge(what: string): Error {
  return new Error(`too large for a manifest: ${what}, the limit is ${maxManifestBytes}`);
}
