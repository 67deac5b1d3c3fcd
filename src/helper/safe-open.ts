/**
 * Opens paths in a volume while a container may swap any folder for a symlink at any moment. Each name is opened from the handle of its
 * parent without following symlinks, so that the resulting handle is always inside the volume (upstream
 * pkg/volume/util/subpath/subpath_linux.go). The path `/proc/self/fd/N` replaces the directory argument of openat(2).
 */
import { constants } from 'node:fs';
import { type FileHandle, lstat, mkdir, open, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, relative } from 'node:path';
import { openPath } from '../shared/linux/directory-calls.ts';
import { isWithin } from '../shared/linux/mountinfo.ts';

const noFollow = constants.O_NOFOLLOW;

export function handlePath(handle: FileHandle): string {
  return `/proc/self/fd/${handle.fd}`;
}

/** Resolves all symlinks of a path. The error contains the path. */
export async function resolveLinks(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch (err) {
    throw Object.assign(new Error(`error resolving symlinks in ${JSON.stringify(path)}`, { cause: err }), {
      code: (err as NodeJS.ErrnoException).code,
    });
  }
}

/** Opens `path` below `base`; both must be free of symlinks. Rejects when a symlink is found below `base`. The caller closes the handle. */
export async function openWithin(path: string, base: string): Promise<FileHandle> {
  if (!isWithin(path, base)) throw new Error(`subpath ${JSON.stringify(path)} not within volume path ${JSON.stringify(base)}`);
  let handle = await open(base, openPath | noFollow);
  try {
    await rejectSymlink(handle, base);
    for (const name of relative(base, path).split('/').filter(Boolean)) handle = await openChild(handle, name);
    return handle;
  } catch (err) {
    await handle.close().catch(() => {});
    throw err;
  }
}

async function openChild(parent: FileHandle, name: string): Promise<FileHandle> {
  const path = join(handlePath(parent), name);
  // The trailing slash triggers an automount, which O_PATH alone does not.
  await lstat(`${path}/`).catch(() => {});
  const child = await open(path, openPath | noFollow);
  await parent.close();
  await rejectSymlink(child, name);
  return child;
}

/** With O_PATH, O_NOFOLLOW opens the symlink itself instead of failing. */
async function rejectSymlink(handle: FileHandle, name: string): Promise<void> {
  if (!(await handle.stat()).isSymbolicLink()) return;
  await handle.close();
  throw new Error(`unexpected symlink found ${name}`);
}

/**
 * Creates the missing folders of `subPath` with the mode of the volume's root, regardless of the umask (upstream SafeMakeDir: with an
 * fsGroup, the group must be able to write to them). Existing folders are unchanged.
 */
export async function makeDirectoryWithin(base: string, subPath: string): Promise<void> {
  const { existing, missing } = await splitAtMissing(join(base, subPath));
  if (missing.length === 0) return;
  const real = await resolveLinks(existing);
  if (!isWithin(real, base)) throw new Error(`path ${real} is outside of allowed base ${base}`);
  const mode = (await stat(base)).mode & 0o7777;
  let handle = await openWithin(real, base);
  try {
    for (const name of missing) {
      const path = join(handlePath(handle), name);
      // Another container of the pod may have created it meanwhile.
      await mkdir(path, { mode }).catch((err: NodeJS.ErrnoException) => {
        if (err.code !== 'EEXIST') throw err;
      });
      const child = await open(path, constants.O_RDONLY | constants.O_DIRECTORY | noFollow);
      await handle.close();
      handle = child;
      await handle.chmod(mode);
    }
  } finally {
    await handle.close();
  }
}

/** Splits a path into the part that exists, with symlinks followed, and the names that do not. */
async function splitAtMissing(path: string): Promise<{ existing: string; missing: string[] }> {
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
