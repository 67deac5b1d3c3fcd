/** Log folders of pods that are gone, and links to logs that are gone (upstream evictPodLogsDirectories). */
import { lstat, readdir, readlink, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { containerOfLogSymlink } from '../../../shared/kubernetes/container-log-symlink.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { pooledCalls } from '../../../shared/linux/directory-calls.ts';
import { removeTree } from '../../../shared/linux/remove-tree.ts';

/** Files carry the time of the kernel's last tick: up to 10 ms behind. */
const tickMs = 10;
/** Of one folder. The next collection goes on where this one ended. */
const removalDeadlineMs = 30_000;

/**
 * Removes `<namespace>_<name>_<uid>` of each pod that is removable, but for a folder that was made or has got a container's folder since
 * `madeBeforeMs` (wall-clock): its pod has come since. How many. A folder that cannot be removed does not keep the others; it is named in the
 * AggregateError.
 */
export async function collectPodLogs(podLogsDir: string, isRemovable: (podUID: PodUID) => boolean, madeBeforeMs: number): Promise<number> {
  const names = await readdir(podLogsDir, { withFileTypes: true }).catch(ifMissing);
  const stale = names.filter((entry) => entry.isDirectory() && isRemovable(entry.name.slice(entry.name.lastIndexOf('_') + 1) as PodUID));
  let removed = 0;
  const failures: unknown[] = [];
  for (const { name } of stale) {
    const path = join(podLogsDir, name);
    const changedAtMs = (await lstat(path).catch(() => undefined))?.mtimeMs ?? Infinity;
    if (changedAtMs + tickMs >= madeBeforeMs) continue;
    try {
      // A pod that collects logs may write there.
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
 * Removes links to logs of ours that are not there any more. A log in rotation is missing for a moment: the link of a container that
 * still runs stays. Links into another one's log folder are not ours to remove.
 */
export async function collectLogSymlinks(
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
