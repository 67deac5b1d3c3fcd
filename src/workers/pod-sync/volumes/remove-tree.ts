/**
 * Removes a folder with all that is in it, of one filesystem, following no link: what a mount or a link leads to is never a pod's to
 * remove (upstream pkg/util/removeall). The caller has proved from the mount table that nothing is mounted below.
 *
 * A pod's own few files go at once, on this thread: a trip to libuv's threads for each costs ten times as much. A tree of a million files
 * lets others have their turn in between, and a large file, whose end takes a disk long, is left to those threads.
 */
import { lstatSync, readdirSync, rmdirSync, unlinkSync, type Stats } from 'node:fs';
import { unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';

export interface RemoveTreeOptions {
  /** Refuse to remove a file: it may be data of a volume that this kubelet does not know. */
  readonly foldersOnly?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/** Some milliseconds of a thread that hundreds of pods share. */
const entriesPerTurn = 200;
const largeFileBytes = 1024 * 1024;

/** Rejects with an Error that names what could not be removed. What is not there is a success. */
export async function removeTree(path: string, options: RemoveTreeOptions = {}): Promise<void> {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats) await new Removal(stats.dev, options).remove(path, stats);
}

class Removal {
  readonly #device: number;
  readonly #options: RemoveTreeOptions;
  #entries = 0;

  constructor(device: number, options: RemoveTreeOptions) {
    this.#device = device;
    this.#options = options;
  }

  async remove(path: string, stats: Stats): Promise<void> {
    this.#entries += 1;
    if (this.#entries % entriesPerTurn === 0) {
      await nextTurn();
      this.#options.signal?.throwIfAborted();
    }
    await (stats.isDirectory() ? this.#removeFolder(path, stats) : this.#removeFile(path, stats));
  }

  async #removeFolder(path: string, { dev }: Stats): Promise<void> {
    this.#options.signal?.throwIfAborted();
    if (dev !== this.#device) throw new Error(`${path} is on another filesystem: not removed`);
    for (const name of unlessMissing(() => readdirSync(path)) ?? []) {
      const child = join(path, name);
      const stats = lstatSync(child, { throwIfNoEntry: false });
      if (stats) await this.remove(child, stats);
    }
    unlessMissing(() => rmdirSync(path));
  }

  async #removeFile(path: string, { size }: Stats): Promise<void> {
    if (this.#options.foldersOnly) throw new Error(`${path} is a file where only mount points should be left: not removed`);
    if (size < largeFileBytes) unlessMissing(() => unlinkSync(path));
    else await unlink(path).catch(ignoreMissing);
  }
}

function unlessMissing<T>(call: () => T): T | undefined {
  try {
    return call();
  } catch (err) {
    return ignoreMissing(err as NodeJS.ErrnoException);
  }
}

function ignoreMissing(err: NodeJS.ErrnoException): undefined {
  if (err.code !== 'ENOENT') throw err;
}
