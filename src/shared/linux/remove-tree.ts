/**
 * Removes a directory tree that untrusted processes may have written and may still write. It uses directory handles only, so that no symlink
 * leads out of the tree and no path is too long. It stays on one mount, and bounds the open handles and the entries in memory (upstream:
 * pkg/util/removeall, which uses paths). The caller has proved from the mount table that nothing is mounted below; a mount that is added
 * meanwhile ends the removal.
 *
 * A directory deeper than `maxDepth` is moved up to the root of the tree and removed there. So depth costs neither handles nor stack, and an
 * interrupted removal keeps its progress.
 */
import { randomBytes } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { setImmediate as nextIteration } from 'node:timers/promises';
import { childOf, closeDirectory, mountIDOf, type DirectoryCalls, type DirectoryEntry, type DirectoryHandle } from './directory-calls.ts';

export interface RemoveTreeOptions {
  readonly calls: DirectoryCalls;
  /** Rejects when a file is found: it may be data of a volume that this kubelet does not manage. */
  readonly foldersOnly?: boolean;
  /** Interrupts the removal. A new removal resumes it. */
  readonly signal?: AbortSignal | undefined;
}

/** Each level has two handles. */
const maxDepth = 32;
/** The limit when a directory cannot be moved up (btrfs: not out of its subvolume). */
const hardMaxDepth = 256;
/** Entries in memory for each level. Their files are removed in parallel. */
const entriesPerRead = 8;
/** Entries between two yields: some milliseconds of a thread that hundreds of pods share. */
const entriesPerIteration = 200;
/** A directory that is not empty after this many passes must still be getting new files. */
const maxPasses = 16;

/** Removes `path` and everything below it. Succeeds when it does not exist. Rejects with an Error that names the path that could not be removed. */
export async function removeTree(path: string, options: RemoveTreeOptions): Promise<void> {
  const parent = await options.calls.openDirectory(dirname(path)).catch(toExpectedCode('ENOENT'));
  if (typeof parent === 'string') return;
  try {
    const removal = new TreeRemoval(mountIDOf(parent), options);
    await removal.remove(parent, { name: Buffer.from(basename(path)), isDirectory: true }, path);
  } finally {
    closeDirectory(parent);
  }
}

class TreeRemoval {
  readonly #mountID: number;
  readonly #options: RemoveTreeOptions;
  /** The open directories, starting at the root of the tree. */
  readonly #open: DirectoryHandle[] = [];
  #entries = 0;
  #movedUp = 0;

  constructor(mountID: number, options: RemoveTreeOptions) {
    this.#mountID = mountID;
    this.#options = options;
  }

  async remove(parent: DirectoryHandle, { name, isDirectory }: DirectoryEntry, path: string): Promise<void> {
    await this.#yieldRegularly();
    try {
      await (isDirectory ? this.#removeDirectory(parent, name, path) : this.#removeFile(parent, name, path));
    } catch (err) {
      throw withPath(path, err);
    }
  }

  async #removeDirectory(parent: DirectoryHandle, name: Buffer, path: string): Promise<void> {
    const { calls } = this.#options;
    for (let passes = 0; passes < maxPasses;) {
      const outcome = await calls
        .rmdir(childOf(parent, name))
        .then(() => 'done', toExpectedCode('ENOENT', 'ENOTDIR', 'ENOTEMPTY', 'EEXIST'));
      if (outcome === 'done' || outcome === 'ENOENT') return;
      // A symlink or a file has replaced the directory.
      if (outcome === 'ENOTDIR') return this.#removeFile(parent, name, path);
      if (this.#open.length > maxDepth && (await this.#moveUp(parent, name))) return;
      if (this.#open.length >= hardMaxDepth) throw new TreeRemovalError(`${path} is nested too deeply and cannot be moved`);
      const movedUp = this.#movedUp;
      await this.#emptyDirectory(parent, name, path);
      // A pass in which a directory was moved up is not one in which somebody else added files.
      if (this.#movedUp === movedUp) passes += 1;
    }
    throw new TreeRemovalError(`${path} is not empty after ${maxPasses} attempts: files are still being added`, 'ENOTEMPTY');
  }

  async #emptyDirectory(parent: DirectoryHandle, name: Buffer, path: string): Promise<void> {
    const { calls } = this.#options;
    // ENOTDIR and ELOOP: a file or a symlink has replaced the directory. The caller retries.
    const directory = await calls.openDirectory(childOf(parent, name)).catch(toExpectedCode('ENOENT', 'ENOTDIR', 'ELOOP'));
    if (typeof directory === 'string') return;
    this.#open.push(directory);
    try {
      if (mountIDOf(directory) !== this.#mountID) throw new TreeRemovalError(`${path} is on another mount: not removed`);
      const reader = await calls.readEntries(directory);
      try {
        for (;;) {
          const entries = await reader.read(entriesPerRead);
          if (entries.length === 0) return;
          await this.#removeEntries(directory, entries, path);
        }
      } finally {
        reader.close();
      }
    } finally {
      this.#open.pop();
      closeDirectory(directory);
    }
  }

  async #removeEntries(directory: DirectoryHandle, entries: readonly DirectoryEntry[], path: string): Promise<void> {
    const removeOne = (entry: DirectoryEntry) => this.remove(directory, entry, join(path, entry.name.toString()));
    const files = await Promise.allSettled(entries.filter((entry) => !entry.isDirectory).map(removeOne));
    for (const file of files) if (file.status === 'rejected') throw file.reason;
    for (const entry of entries) if (entry.isDirectory) await removeOne(entry);
  }

  async #removeFile(parent: DirectoryHandle, name: Buffer, path: string): Promise<void> {
    if (this.#options.foldersOnly) throw new TreeRemovalError(`${path} is a file where only mount points should be left: not removed`);
    // EISDIR: a directory has replaced the file. The next pass over the parent removes it.
    await this.#options.calls.unlink(childOf(parent, name)).catch(toExpectedCode('ENOENT', 'EISDIR'));
  }

  /** Moves a directory as far up as the filesystem allows. Returns false when it cannot be moved. */
  async #moveUp(parent: DirectoryHandle, name: Buffer): Promise<boolean> {
    // A file that must stay at its path may be below.
    if (this.#options.foldersOnly) return false;
    const newName = Buffer.from(`.removed-${randomBytes(16).toString('hex')}`);
    for (const ancestor of this.#open.slice(0, -1)) {
      const moved = this.#options.calls.rename(childOf(parent, name), childOf(ancestor, newName));
      if ((await moved.catch(toExpectedCode('EXDEV', 'ENOENT'))) === 'EXDEV') continue;
      this.#movedUp += 1;
      return true;
    }
    return false;
  }

  /** Lets other work of the thread run. */
  async #yieldRegularly(): Promise<void> {
    this.#options.signal?.throwIfAborted();
    this.#entries += 1;
    if (this.#entries % entriesPerIteration === 0) await nextIteration();
  }
}

class TreeRemovalError extends Error {
  readonly code: string | undefined;
  constructor(message: string, code?: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** The system's error contains a path through a handle, which means nothing to an operator. */
function withPath(path: string, err: unknown): unknown {
  const { code, syscall } = err as NodeJS.ErrnoException;
  if (err instanceof TreeRemovalError || code === undefined || syscall === undefined) return err;
  return new TreeRemovalError(`${code}: ${syscall} '${path}'`, code, { cause: err });
}

/** Turns a rejection with one of these codes into the code. */
function toExpectedCode<C extends string>(...expected: readonly C[]): (err: unknown) => C {
  return (err) => {
    const { code } = err as NodeJS.ErrnoException;
    const expectedCode = expected.find((candidate) => candidate === code);
    if (expectedCode === undefined) throw err;
    return expectedCode;
  };
}
