/**
 * Applies an fsGroup: gives a volume's tree to a group that may write it, and makes new files belong to the group (upstream
 * pkg/volume/volume_linux.go). A tree may have millions of files.
 */
import { constants } from 'node:fs';
import { chmod, chown, lchown, lstat, open, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { HelperOperations } from '../shared/contracts/helper.ts';
import { messageOf } from '../shared/errors/kubelet-error.ts';
import { openPath } from '../shared/linux/directory-calls.ts';
import { handlePath } from './safe-open.ts';

type Request = HelperOperations['changeOwnership']['request'];
type Reply = HelperOperations['changeOwnership']['reply'];

const readWriteMask = 0o660;
const readOnlyMask = 0o440;
const searchMask = 0o110;
const setgid = 0o2000;

export async function changeOwnership(request: Request): Promise<Reply> {
  if (request.onlyOnRootMismatch && !(await rootMismatches(request))) return { failures: 0, firstFailure: null };
  // A missing volume is a failure; a file that disappears during the walk is not.
  await lstat(request.path);
  const result: Reply = { failures: 0, firstFailure: null };
  await changeTree(request.path, request.path, request, result);
  return result;
}

/**
 * Changes children before their folder: then a correct root proves that everything below it is correct (OnRootMismatch).
 * @param treePath leads through the handles of the parent folders, so that a folder that is swapped for a symlink never leads out
 * @param path the path for error messages
 */
async function changeTree(treePath: string, path: string, request: Request, result: Reply): Promise<void> {
  try {
    const handle = await open(treePath, openPath | constants.O_NOFOLLOW);
    try {
      const stats = await handle.stat();
      const ownPath = handlePath(handle);
      if (stats.isDirectory()) {
        for await (const { name } of await opendir(ownPath)) await changeTree(join(ownPath, name), join(path, name), request, result);
      }
      await (stats.isSymbolicLink() ? lchown(treePath, stats.uid, request.fsGroup) : changeOne(ownPath, stats, request));
    } finally {
      await handle.close();
    }
  } catch (err) {
    // Continues after a failure, as upstream: part of a volume may be read-only.
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return;
    result.failures += 1;
    result.firstFailure ??= `${path}: ${messageOf(err)}`;
  }
}

/** Needs a path through the file's own handle: with its name, chmod and chown would follow a symlink that was swapped in. */
async function changeOne(
  ownPath: string,
  stats: { uid: number; mode: number; isDirectory(): boolean },
  { fsGroup, readOnly }: Request,
): Promise<void> {
  await chown(ownPath, stats.uid, fsGroup);
  const mask = (readOnly ? readOnlyMask : readWriteMask) | (stats.isDirectory() ? searchMask | setgid : 0);
  await chmod(ownPath, (stats.mode & 0o7777) | mask);
}

async function rootMismatches({ path, fsGroup, readOnly }: Request): Promise<boolean> {
  const stats = await stat(path);
  const requiredMode = (readOnly ? readOnlyMask : readWriteMask) | searchMask | setgid;
  return stats.gid !== fsGroup || !stats.isDirectory() || (stats.mode & requiredMode) !== requiredMode;
}
