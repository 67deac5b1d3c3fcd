/**
 * Applies an fsGroup: gives a volume's tree to a group that may write it, and makes new files belong to the group (upstream
 * pkg/volume/volume_linux.go). A tree may have millions of files.
 */
import { constants, type Stats } from 'node:fs';
import { chmod, chown, lchown, lstat, open, opendir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { HelperOperations } from '../shared/contracts/helper.ts';
import { messageOf } from '../shared/errors/kubelet-error.ts';
import { openPath } from '../shared/linux/directory-calls.ts';
import type { OperationRun } from './operation-run.ts';
import { handlePath } from './safe-open.ts';

type Request = HelperOperations['changeOwnership']['request'];
type Reply = HelperOperations['changeOwnership']['reply'];

const readWriteMask = 0o660;
const readOnlyMask = 0o440;
const searchMask = 0o110;
const setgid = 0o2000;

interface Walk extends Reply {
  readonly request: Request;
  readonly signal: AbortSignal;
  files: number;
}

const reportMs = 1000;

export async function changeTreeOwnership(request: Request, { signal, reportFiles }: OperationRun): Promise<Reply> {
  const walk: Walk = { request, signal, files: 0, failures: 0, firstFailure: null, unreadable: null };
  if (!request.onlyOnRootMismatch || (await rootMismatches(request))) {
    // A missing volume is a failure; a file that disappears during the walk is not.
    await lstat(request.path);
    const timer = setInterval(() => reportFiles(walk.files), reportMs);
    await changeTree(request.path, request.path, walk).finally(() => clearInterval(timer));
  }
  const { failures, firstFailure, unreadable } = walk;
  return { failures, firstFailure, unreadable };
}

/**
 * Changes children before their folder: then a correct root proves that everything below it is correct (OnRootMismatch).
 * @param treePath leads through the handles of the parent folders, so that a folder that is swapped for a symlink never leads out
 * @param path the path for error messages
 */
async function changeTree(treePath: string, path: string, walk: Walk): Promise<void> {
  walk.signal.throwIfAborted();
  try {
    const handle = await open(treePath, openPath | constants.O_NOFOLLOW);
    try {
      const stats = await handle.stat();
      const ownPath = handlePath(handle);
      if (stats.isDirectory()) {
        for await (const { name } of await opendir(ownPath)) await changeTree(join(ownPath, name), join(path, name), walk);
      }
      await changeOne(stats.isSymbolicLink() ? treePath : ownPath, stats, walk.request).catch((err: unknown) => {
        if (isMissing(err)) return;
        walk.failures += 1;
        walk.firstFailure ??= `${path}: ${messageOf(err)}`;
      });
      walk.files += 1;
    } finally {
      await handle.close();
    }
  } catch (err) {
    walk.signal.throwIfAborted();
    if (!isMissing(err)) walk.unreadable ??= `${path}: ${messageOf(err)}`;
  }
}

/**
 * Needs a path through the file's own handle, except for a symlink: with its name, chmod and chown would follow a symlink that was swapped in. Changes the
 * mode also of a file that keeps its group, as upstream.
 */
async function changeOne(path: string, stats: Stats, { fsGroup, readOnly }: Request): Promise<void> {
  if (stats.isSymbolicLink()) return lchown(path, stats.uid, fsGroup);
  const mask = (readOnly ? readOnlyMask : readWriteMask) | (stats.isDirectory() ? searchMask | setgid : 0);
  // In this order: a new group clears the setgid bit.
  try {
    await chown(path, stats.uid, fsGroup);
  } finally {
    await chmod(path, (stats.mode & 0o7777) | mask);
  }
}

function isMissing(err: unknown): boolean {
  return (err as NodeJS.ErrnoException).code === 'ENOENT';
}

async function rootMismatches({ path, fsGroup, readOnly }: Request): Promise<boolean> {
  const stats = await stat(path);
  const requiredMode = (readOnly ? readOnlyMask : readWriteMask) | searchMask | setgid;
  return stats.gid !== fsGroup || !stats.isDirectory() || (stats.mode & requiredMode) !== requiredMode;
}
