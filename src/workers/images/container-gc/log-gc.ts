/** Removes log directories of deleted pods, and symlinks to deleted logs (upstream evictPodLogsDirectories). */
import { lstat, readdir, readlink, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { containerOfLogSymlink } from '../../../shared/kubernetes/container-log-symlink.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { pooledCalls } from '../../../shared/linux/directory-calls.ts';
import { removeTree } from '../../../shared/linux/remove-tree.ts';

/** File times have the resolution of the kernel's tick: up to 10 ms in the past. */
const tickMs = 10;
/** The limit per directory. The next collection continues the removal. */
const removalDeadlineMs = 30_000;

/**
 * Removes the directory `<namespace>_<name>_<uid>` of each removable pod. Skips a directory that changed after `madeBeforeMs`
 * (wall-clock): a new pod created it or a container directory in it. Resolves with the number of removed directories. A failure does not
 * stop the other removals; the AggregateError lists all failures.
 */
export async function removePodLogDirectories(
  podLogsDir: string,
  isRemovable: (podUID: PodUID) => boolean,
  madeBeforeMs: number,
): Promise<number> {
  const names = await readdir(podLogsDir, { withFileTypes: true }).catch(ifMissing);
  const staleDirectories = names.filter(
    (entry) => entry.isDirectory() && isRemovable(entry.name.slice(entry.name.lastIndexOf('_') + 1) as PodUID),
  );
  let removed = 0;
  const failures: unknown[] = [];
  for (const { name } of staleDirectories) {
    const path = join(podLogsDir, name);
    const changedAtMs = (await lstat(path).catch(() => undefined))?.mtimeMs ?? Infinity;
    if (changedAtMs + tickMs >= madeBeforeMs) continue;
    try {
      // A pod that collects logs may write to the directory during the removal.
      await removeTree(path, { calls: pooledCalls, signal: AbortSignal.timeout(removalDeadlineMs) });
      removed += 1;
    } catch (err) {
      failures.push(err);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(messageOf).join('; '));
  return removed;
}

/**
 * Removes symlinks to missing logs below `podLogsDir`. A log is missing briefly during rotation, so symlinks of running containers stay.
 * Symlinks to other directories belong to other programs.
 */
export async function removeDeadLogSymlinks(
  containerLogsDir: string,
  podLogsDir: string,
  isRunning: (containerID: string) => boolean,
): Promise<number> {
  let removed = 0;
  for (const entry of await readdir(containerLogsDir, { withFileTypes: true }).catch(ifMissing)) {
    const path = join(containerLogsDir, entry.name);
    if (!entry.isSymbolicLink() || !(await readlink(path).catch(() => '')).startsWith(`${podLogsDir}/`)) continue;
    if (await exists(path)) continue;
    const containerID = containerOfLogSymlink(entry.name);
    if (containerID !== undefined && isRunning(containerID)) continue;
    await rm(path, { force: true });
    removed += 1;
  }
  return removed;
}

async function exists(path: string): Promise<boolean> {
  try {
    await stat(path);
    return true;
  } catch (err) {
    return (err as NodeJS.ErrnoException).code !== 'ENOENT';
  }
}

function ifMissing(err: NodeJS.ErrnoException): [] {
  if (err.code === 'ENOENT') return [];
  throw err;
}
