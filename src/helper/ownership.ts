/**
 * fsGroup: a volume's tree is given to a group that may write it, and whose new files belong to it too (upstream
 * pkg/volume/volume_linux.go). A tree may have millions of files.
 */
import { constants } from 'node:fs';
import { chmod, chown, lchown, lstat, open, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { HelperOperations } from '../shared/contracts/helper.ts';
import { messageOf } from '../shared/errors/kubelet-error.ts';
import { handlePath } from './safe-open.ts';

type Request = HelperOperations['changeOwnership']['request'];
type Reply = HelperOperations['changeOwnership']['reply'];

const readWrite = 0o660;
const readOnlyMask = 0o440;
const enter = 0o110;
const setgid = 0o2000;
const openPath = 0x200000;

export async function changeOwnership(request: Request): Promise<Reply> {
  if (request.onlyOnRootMismatch && !(await rootDiffers(request))) return { failures: 0, firstFailure: null };
  // A volume that is not there is no success, as a file that goes meanwhile is.
  await lstat(request.path);
  const result: Reply = { failures: 0, firstFailure: null };
  await changeTree(request.path, request.path, request, result);
  return result;
}

/**
 * Children before their folder: a root that is right tells that all below it is (OnRootMismatch). `place` leads through the handles of
 * the folders above, `path` is what an error shows: a container that exchanges a folder for a link meanwhile leads nobody out.
 */
async function changeTree(place: string, path: string, request: Request, result: Reply): Promise<void> {
  try {
    const handle = await open(place, openPath | constants.O_NOFOLLOW);
    try {
      const stats = await handle.stat();
      const here = handlePath(handle);
      if (stats.isDirectory()) {
        for await (const { name } of await opendir(here)) await changeTree(join(here, name), join(path, name), request, result);
      }
      await (stats.isSymbolicLink() ? lchown(place, stats.uid, request.fsGroup) : changeOne(here, stats, request));
    } finally {
      await handle.close();
    }
  } catch (err) {
    // Upstream logs and goes on: part of a volume may be read-only.
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return;
    result.failures += 1;
    result.firstFailure ??= `${path}: ${messageOf(err)}`;
  }
}

/** By the handle, not the name: chmod and chown of a name would follow a link put there meanwhile. */
async function changeOne(
  place: string,
  stats: { uid: number; mode: number; isDirectory(): boolean },
  { fsGroup, readOnly }: Request,
): Promise<void> {
  await chown(place, stats.uid, fsGroup);
  const mask = (readOnly ? readOnlyMask : readWrite) | (stats.isDirectory() ? enter | setgid : 0);
  await chmod(place, (stats.mode & 0o7777) | mask);
}

async function rootDiffers({ path, fsGroup, readOnly }: Request): Promise<boolean> {
  const stats = await stat(path);
  const wanted = (readOnly ? readOnlyMask : readWrite) | enter | setgid;
  return stats.gid !== fsGroup || !stats.isDirectory() || (stats.mode & wanted) !== wanted;
}
