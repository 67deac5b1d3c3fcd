/**
 * subPath: a part of a volume, bound into the pod's own folder, where nobody who writes in the volume can exchange it before the
 * runtime mounts it (CVE-2017-1002101, CVE-2021-25741; upstream pkg/volume/util/subpath/subpath_linux.go, doBindSubPath).
 */
import type { FileHandle } from 'node:fs/promises';
import { lstat, mkdir, open, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { HelperOperations } from '../shared/contracts/helper.ts';
import { mount, MountFlag, unmount } from '../shared/linux/native.ts';
import { mountAt } from './mount-filesystem.ts';
import { handlePath, makeDirectoryWithin, openWithin, resolveLinks } from './safe-open.ts';

export async function bindSubpath({ volumePath, subPath, target }: HelperOperations['bindSubpath']['request']): Promise<null> {
  const base = await resolveLinks(volumePath);
  await makeDirectoryWithin(base, subPath);
  const handle = await openWithin(await resolveLinks(join(base, subPath)), base);
  try {
    if (await isBoundTo(handle, target)) return null;
    await makeTarget(handle, target);
    await bind(handle, target);
  } finally {
    await handle.close();
  }
  return null;
}

/** Whether the same file or folder is mounted there already; another one is taken away. */
async function isBoundTo(handle: FileHandle, target: string): Promise<boolean> {
  if (!(await mountAt(target))) return false;
  const [wanted, found] = [await handle.stat(), await lstat(target)];
  if (wanted.dev === found.dev && wanted.ino === found.ino) return true;
  await unmount(target);
  return isBoundTo(handle, target);
}

/** A folder for a folder; a file does for all else: the bind mount makes it the right kind. */
async function makeTarget(handle: FileHandle, target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true, mode: 0o750 });
  const isFolder = (await handle.stat()).isDirectory();
  const found = await lstat(target).catch(() => undefined);
  if (found && found.isDirectory() !== isFolder) await (found.isDirectory() ? rmdir(target) : rm(target));
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

/** A regular file's content, found as safely as a subPath. */
export async function readFileWithin({
  volumePath,
  path,
  maxBytes,
}: HelperOperations['readFile']['request']): Promise<{ content: string }> {
  const base = await resolveLinks(volumePath);
  const place = await openWithin(await resolveLinks(join(base, path)), base);
  try {
    const stats = await place.stat();
    if (!stats.isFile()) throw new Error(`${path} is not a file`);
    if (stats.size > maxBytes) throw new Error(`${path} has ${stats.size} bytes, more than ${maxBytes}`);
    const file = await open(handlePath(place), 'r');
    try {
      // One byte more tells a file that grew meanwhile from one that just fits.
      const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(maxBytes + 1), position: 0 });
      if (bytesRead > maxBytes) throw new Error(`${path} has more than ${maxBytes} bytes`);
      return { content: buffer.toString('utf8', 0, bytesRead) };
    } finally {
      await file.close();
    }
  } finally {
    await place.close();
  }
}
