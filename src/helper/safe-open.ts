/**
 * Opens what is below a volume's root while the one who writes in the volume may exchange any folder for a symlink at any moment. Each
 * name is opened from the handle of its parent without following a link, so the handle that comes out is in the volume whatever
 * happened meanwhile (upstream pkg/volume/util/subpath/subpath_linux.go). A handle's `/proc/self/fd/N` stands for openat(2)'s folder.
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { isWithin } from '../shared/linux/mountinfo.ts';

/** O_PATH: a place in the tree, nothing opened; a FIFO does not block, a device does nothing. The same number on x86-64 and arm64. */
const openPath = 0x200000;
const noFollow = constants.O_NOFOLLOW;

export function handlePath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

/** A path without its symlinks. Names the path in its error. */
export async function resolveLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (err) {
    throw Object.assign(new Error(`error resolving symlinks in ${JSON.stringify(path)}`, { cause: err }), {
      code: (err as NodeJS.ErrnoException).code,
    });
  }
}

/** Opens `path`, which is below `base`; both without symlinks. Rejects when a link stands anywhere between. The caller closes the handle. */
export async function openWithin(path: string, base: string): Promise<FileHandle> {
  if (!isWithin(path, base)) throw new Error(`subpath ${JSON.stringify(path)} not within volume path ${JSON.stringify(base)}`);
  let handle = await open(base, openPath | noFollow);
  try {
    await rejectLink(handle, base);
    for (const name of relative(base, path).split('/').filter(Boolean)) handle = await descend(handle, name);
    return handle;
  } catch (err) {
    await handle.close().catch(() => {});
    throw err;
  }
}

async function descend(parent: FileHandle, name: string): Promise<FileHandle> {
  const place = join(handlePath(parent), name);
  // The slash makes the kernel mount an automount point; O_PATH alone would not.
  await lstat(`${place}/`).catch(() => {});
  const child = await open(place, openPath | noFollow);
  await parent.close();
  await rejectLink(child, name);
  return child;
}

/** With O_PATH, O_NOFOLLOW opens a link itself instead of failing. */
async function rejectLink(handle: FileHandle, name: string): Promise<void> {
  if (!(await handle.stat()).isSymbolicLink()) return;
  await handle.close();
  throw new Error(`unexpected symlink found ${name}`);
}

/**
 * Makes the folders of `subPath` that are not there, with the mode of the volume's root, whatever the umask (upstream SafeMakeDir: with
 * an fsGroup they must be writable by the group). What is there already is left as it is.
 */
export async function makeDirectoryWithin(base: string, subPath: string): Promise<void> {
  const { existing, missing } = await existingPrefix(join(base, subPath));
  if (missing.length === 0) return;
  const real = await resolveLinks(existing);
  if (!isWithin(real, base)) throw new Error(`path ${real} is outside of allowed base ${base}`);
  const mode = (await stat(base)).mode & 0o7777;
  let handle = await openWithin(real, base);
  try {
    for (const name of missing) {
      const place = join(handlePath(handle), name);
      await mkdir(place, { mode });
      const child = await open(place, constants.O_RDONLY | constants.O_DIRECTORY | noFollow);
      await handle.close();
      handle = child;
      await handle.chmod(mode);
    }
  } finally {
    await handle.close();
  }
}

/** The part of a path that exists, links followed, and the names that do not. */
async function existingPrefix(path: string): Promise<{ existing: string; missing: string[] }> {
  const missing: string[] = [];
  for (let existing = path; ; existing = dirname(existing)) {
    try {
      await stat(existing);
      return { existing, missing };
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'ENOENT' || existing === '/') throw err;
      missing.unshift(basename(existing));
    }
  }
}
