/** Removes log directories of deleted pods, and symlinks to deleted logs (upstream evictPodLogsDirectories). */
import { lstat, readdir, readlink, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { containerOfLogSymlink } from '../../../shared/container-logs/container-log-symlink.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { pooledCalls } from '../../../shared/linux/directory-calls.ts';
import { removeTree } from '../../../shared/linux/remove-tree.ts';

/** File times have the resolution of the kernel's tick: up to 10 ms in the past. */
const tickMs = 10;
/** The time limit for one directory. The next collection continues the removal. */
const removalDeadlineMs = 30_000;

/**
 * Parses the UID of `<namespace>_<name>_<uid>`. Neither namespace nor name contains an underscore, but the UID of a static pod may; upstream
 * takes what follows the last underscore.
 */
export function podOfLogDirectory(name: string): PodUID {
  const parts = name.split('_');
  return (parts.length > 3 ? parts.slice(2).join('_') : parts.at(-1)) as PodUID;
}

/**
 * Removes the directory `<namespace>_<name>_<uid>` of each removable pod, or the symlink in its place. Skips a directory that changed after
 * `madeBeforeMs` (wall-clock): a new pod has created the directory, or a container directory in it. Resolves with the number of removed
 * directories. A failure does not stop the other removals; the AggregateError lists all failures.
 */
export async function removePodLogDirectories(
  podLogsDir: string,
  isRemovable: (podUID: PodUID) => boolean,
  madeBeforeMs: number,
): Promise<number> {
  const names = await readdir(podLogsDir, { withFileTypes: true }).catch(ifMissing);
  const staleDirectories = names.filter(
    (entry) => (entry.isDirectory() || entry.isSymbolicLink()) && isRemovable(podOfLogDirectory(entry.name)),
  );
  let removed = 0;
  const failures: unknown[] = [];
  for (const entry of staleDirectories) {
    const path = join(podLogsDir, entry.name);
    const changedAtMs = (await lstat(path).catch(() => undefined))?.mtimeMs ?? Infinity;
    if (changedAtMs + tickMs >= madeBeforeMs) continue;
    try {
      // A pod that collects logs may write to the directory during the removal.
      if (entry.isSymbolicLink()) await unlink(path);
      else await removeTree(path, { calls: pooledCalls, signal: AbortSignal.timeout(removalDeadlineMs) });
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
 * Symlinks to other directories, and other names than `*.log`, belong to other programs. A long name is cut, and may end in the first part of an ID.
 */
export async function removeDeadLogSymlinks(containerLogsDir: string, podLogsDir: string, runningIDs: Iterable<string>): Promise<number> {
  const running = [...runningIDs];
  let removed = 0;
  for (const entry of await readdir(containerLogsDir, { withFileTypes: true }).catch(ifMissing)) {
    const path = join(containerLogsDir, entry.name);
    if (!entry.isSymbolicLink() || !entry.name.endsWith('.log')) continue;
    if (!(await readlink(path).catch(() => '')).startsWith(`${podLogsDir}/`)) continue;
    if (await exists(path)) continue;
    const containerID = containerOfLogSymlink(entry.name);
    if (containerID !== undefined && running.some((id) => id.startsWith(containerID))) continue;
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
