/**
 * The file system calls of a tree removal, in two kinds: at once on the calling thread (10 µs each, for a few files of the kubelet's own), or in
 * libuv's threads (for trees that somebody else wrote, which may be large or hang). Names are bytes: a container may use any but `/` and NUL.
 */
import * as fs from 'node:fs';
import { constants, type Dirent, type Dir } from 'node:fs';
import { opendir, rename, rmdir, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';

/** O_PATH: a place in the tree, nothing is opened: a mount that hangs does not answer and is not asked. The same number on x86-64 and arm64. */
export const openPath = 0x200000;

/** A directory by its handle. Whatever its path has become meanwhile, this is it. */
export interface DirectoryHandle {
  readonly fd: number;
}

export interface DirectoryEntry {
  readonly name: Buffer;
  readonly isDirectory: boolean;
}

/** The entries of a directory, some at a time. */
export interface DirectoryReader {
  /** None at the end. */
  read(maxEntries: number): Promise<readonly DirectoryEntry[]>;
  close(): void;
}

export interface DirectoryCalls {
  /** Rejects for a symlink in the last place, and for all else that is no directory. */
  openDirectory(path: string | Buffer): Promise<DirectoryHandle>;
  readEntries(directory: DirectoryHandle): Promise<DirectoryReader>;
  unlink(path: string | Buffer): Promise<void>;
  rmdir(path: string | Buffer): Promise<void>;
  rename(from: string | Buffer, to: string | Buffer): Promise<void>;
}

/** A path through the handle: the kernel goes on from the directory itself. Nothing but the name is looked up. */
export function childOf({ fd }: DirectoryHandle, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]);
}

const openFlags = openPath | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Entries that one getdents trip brings. */
const bufferSize = 256;
/** The declared type lacks 'buffer', which readdir's has. */
const readerOptions = { encoding: 'buffer' as BufferEncoding, bufferSize };
/** The end of a file takes a disk long from about this size on. */
const largeFileBytes = 1024 * 1024;

/** A handle of O_PATH holds nothing that its end could wait for. */
export function closeDirectory({ fd }: DirectoryHandle): void {
  fs.closeSync(fd);
}

/** The mount that the directory is on; a bind mount of the same file system is another one. Procfs does not ask the file system. */
export function mountIDOf({ fd }: DirectoryHandle): number {
  const [, id] = /^mnt_id:\s*(\d+)$/m.exec(fs.readFileSync(`/proc/self/fdinfo/${fd}`, 'latin1')) ?? [];
  if (id === undefined) throw new Error('the kernel does not say which mount a directory is on');
  return Number(id);
}

function toEntry(entry: Dirent): DirectoryEntry {
  return { name: entry.name as unknown as Buffer, isDirectory: entry.isDirectory() };
}

function readerOf(dir: Dir, next: () => Promise<Dirent | null>): DirectoryReader {
  return {
    async read(maxEntries) {
      const entries: DirectoryEntry[] = [];
      while (entries.length < maxEntries) {
        const entry = await next();
        if (!entry) break;
        entries.push(toEntry(entry));
      }
      return entries;
    },
    // The reader is at its end, or its caller has failed.
    close: () => dir.closeSync(),
  };
}

const openAsync = promisify<string | Buffer, number, number>(fs.open);

export const pooledCalls: DirectoryCalls = {
  openDirectory: async (path) => ({ fd: await openAsync(path, openFlags) }),
  async readEntries({ fd }) {
    const dir = await opendir(`/proc/self/fd/${fd}`, readerOptions);
    return readerOf(dir, () => dir.read());
  },
  unlink,
  rmdir,
  rename,
};

export const blockingCalls: DirectoryCalls = {
  openDirectory: async (path) => ({ fd: fs.openSync(path, openFlags) }),
  async readEntries({ fd }) {
    const dir = fs.opendirSync(`/proc/self/fd/${fd}`, readerOptions);
    return readerOf(dir, async () => dir.readSync());
  },
  async unlink(path) {
    const { size = 0 } = fs.lstatSync(path, { throwIfNoEntry: false }) ?? {};
    if (size < largeFileBytes) fs.unlinkSync(path);
    else await unlink(path);
  },
  rmdir: async (path) => fs.rmdirSync(path),
  rename: async (from, to) => fs.renameSync(from, to),
};
