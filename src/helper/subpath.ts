/**
 * Bind-mounts a volume's subPath into the pod's folder. There, a process that writes to the volume cannot swap it before the runtime mounts
 * it (CVE-2017-1002101, CVE-2021-25741; upstream pkg/volume/util/subpath/subpath_linux.go, doBindSubPath).
 */
import type { FileHandle } from 'node:fs/promises';
import { chmod, chown, lstat, mkdir, open, rm, rmdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { HelperOperations } from '../shared/contracts/helper.ts';
import { mount, MountFlag, unmount, UnmountFlag } from '../shared/linux/native.ts';
import { findMountAt } from './mount-filesystem.ts';
import { handlePath, makeDirectoryWithin, openWithin, resolveLinks } from './safe-open.ts';

export async function bindSubpath({ volumePath, subPath, target, create }: HelperOperations['bindSubpath']['request']): Promise<null> {
  const base = await resolveLinks(volumePath);
  if (create) await makeDirectoryWithin(base, subPath);
  else if (await isMissing(join(base, subPath))) return makeEmptyDirectory(base, target);
  const handle = await openWithin(await resolveLinks(join(base, subPath)), base);
  try {
    if (await isBoundAt(handle, target)) return null;
    await makeMountPoint(target, (await handle.stat()).isDirectory());
    await bind(handle, target);
  } finally {
    await handle.close();
  }
  return null;
}

async function isMissing(path: string): Promise<boolean> {
  return stat(path).then(
    () => false,
    (err: NodeJS.ErrnoException) => {
      if (err.code === 'ENOENT' || err.code === 'ENOTDIR') return true;
      throw err;
    },
  );
}

/** Makes the target a folder that looks like the volume. A folder in the volume would be in the way of the file that may appear there. */
async function makeEmptyDirectory(base: string, target: string): Promise<null> {
  while (await findMountAt(target)) await unmount(target, UnmountFlag.noFollow | UnmountFlag.detach);
  const { mode, gid } = await stat(base);
  await makeMountPoint(target, true);
  await chown(target, 0, gid);
  await chmod(target, mode & 0o7777);
  return null;
}

/** Returns whether the same file or folder is mounted at the target already. Unmounts any other. */
async function isBoundAt(handle: FileHandle, target: string): Promise<boolean> {
  if (!(await findMountAt(target))) return false;
  const mounted = await lstat(target).catch((err: NodeJS.ErrnoException) => {
    if (corruptedMountCodes.has(err.code ?? '')) return undefined;
    throw err;
  });
  const source = await handle.stat();
  if (mounted && source.dev === mounted.dev && source.ino === mounted.ino) return true;
  // The server of a filesystem that is gone would let an ordinary unmount wait for ever.
  await unmount(target, UnmountFlag.noFollow | UnmountFlag.detach);
  return isBoundAt(handle, target);
}

/** What a mount point answers whose filesystem is gone (upstream IsCorruptedMnt in mount-utils). */
const corruptedMountCodes = new Set(['ENOTCONN', 'ESTALE', 'EIO', 'EACCES', 'EHOSTDOWN', 'EAGAIN', 'ENODEV']);

/** Creates the mount point: a folder for a folder, a file for everything else. The bind mount gives it the right type. */
async function makeMountPoint(target: string, isFolder: boolean): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  const existing = await lstat(target).catch(() => undefined);
  if (existing && existing.isDirectory() !== isFolder) await (existing.isDirectory() ? rmdir(target) : rm(target));
  if (isFolder) await mkdir(target, { recursive: true, mode: 0o750 });
  else await writeFile(target, '', { mode: 0o640 });
}

async function bind(handle: FileHandle, target: string): Promise<void> {
  try {
    await mount(handlePath(handle), target, '', MountFlag.bind, '');
  } catch (err) {
    await rmdir(target).catch(() => rm(target));
    throw err;
  }
}

/** Reads a regular file in a volume, resolved as safely as a subPath. Returns null when it is longer than `maxBytes`. */
export async function readFileWithin({
  volumePath,
  path,
  maxBytes,
}: HelperOperations['readFile']['request']): Promise<HelperOperations['readFile']['reply']> {
  const base = await resolveLinks(volumePath);
  const openedFile = await openWithin(await resolveLinks(join(base, path)), base);
  try {
    const stats = await openedFile.stat();
    if (!stats.isFile()) throw new Error(`${path} is not a file`);
    if (stats.size > maxBytes) return { content: null };
    const file = await open(handlePath(openedFile), 'r');
    try {
      // One extra byte detects a file that has grown since the check.
      const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(maxBytes + 1), position: 0 });
      return { content: bytesRead > maxBytes ? null : buffer.toString('utf8', 0, bytesRead) };
    } finally {
      await file.close();
    }
  } finally {
    await openedFile.close();
  }
}
