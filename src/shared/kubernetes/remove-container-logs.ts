/**
 * Removes what a dead container has logged: its log, what rotation made of it, and its link in the node's flat log folder (upstream
 * kuberuntime_gc.go removeContainerLog). Done by syncs and by garbage collection, each for the containers that it removes.
 */
import { lstat, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/**
 * `link`: of containerLogSymlink. `logPath` is what the runtime says: nothing is removed that is not below `podLogsDir`, nor through
 * a link in place of the container's folder. What is gone already is a success; rejects with the file system's error.
 */
export async function removeContainerLogs(podLogsDir: string, logPath: string, link: string): Promise<void> {
  await rm(link, { force: true });
  if (!logPath.startsWith(`${podLogsDir}/`) || logPath.split('/').includes('..')) return;
  const folder = dirname(logPath);
  const isFolder = await lstat(folder).then(
    (stats) => stats.isDirectory(),
    () => false,
  );
  if (!isFolder) return;
  const log = basename(logPath);
  const names = (await readdir(folder)).filter((name) => name === log || name.startsWith(`${log}.`));
  await Promise.all(names.map((name) => rm(join(folder, name), { force: true })));
}
