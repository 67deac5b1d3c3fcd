/**
 * The file system calls of a tree removal, in two variants: blocking (10 µs each, for a few files of the kubelet), or in libuv's threads (for
 * trees written by containers, which may be large or hang). Names are bytes, since a container may use any byte but `/` and NUL.
 */
import * as fs from 'node:fs';
import { constants, type Dirent, type Dir } from 'node:fs';
import { opendir, rename, rmdir, unlink } from 'node:fs/promises';
import { promisify } from 'node:util';

/**
 * O_PATH opens a location without opening the file: it does not block on a FIFO, has no effect on a device, and does not access a mounted
 * filesystem that hangs. The same number on x86-64 and arm64.
 */
export const openPath = 0x200000;

/** An open directory. The handle stays valid when the path is renamed or replaced. */
export interface DirectoryHandle {
  readonly fd: number;
}

export interface DirectoryEntry {
  readonly name: Buffer;
  readonly isDirectory: boolean;
}

/** Reads the entries of a directory in batches. */
export interface DirectoryReader {
  /** Returns an empty list at the end. */
  read(maxEntries: number): Promise<readonly DirectoryEntry[]>;
  close(): void;
}

export interface DirectoryCalls {
  /** Rejects when the last component is a symlink or not a directory. */
  openDirectory(path: string | Buffer): Promise<DirectoryHandle>;
  readEntries(directory: DirectoryHandle): Promise<DirectoryReader>;
  unlink(path: string | Buffer): Promise<void>;
  rmdir(path: string | Buffer): Promise<void>;
  rename(from: string | Buffer, to: string | Buffer): Promise<void>;
}

/** Returns the path of a child through the directory's handle: the kernel looks up only the name. */
export function childOf({ fd }: DirectoryHandle, name: Buffer): Buffer {
  return Buffer.concat([Buffer.from(`/proc/self/fd/${fd}/`), name]);
}

const openFlags = openPath | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** Entries of one getdents call. */
const bufferSize = 256;
/** Names as buffers. Node's type for opendir's options lacks the encoding 'buffer', which readdir's has. */
const readerOptions = { encoding: 'buffer' as BufferEncoding, bufferSize };
/** Unlinking a larger file may take long on a disk, so it must not block the thread. */
const largeFileBytes = 1024 * 1024;

/** Closing an O_PATH handle never waits. */
export function closeDirectory({ fd }: DirectoryHandle): void {
  fs.closeSync(fd);
}

/** Returns the ID of the directory's mount, which differs for a bind mount of the same filesystem. Procfs does not access the filesystem. */
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
    // Called at the end of the directory, or after a failure.
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
