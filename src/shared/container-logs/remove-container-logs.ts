/**
 * Removes the logs of a dead container: the log, its rotated files, and its symlink in /var/log/containers (upstream
 * kuberuntime_gc.go removeContainerLog). Pod syncs and garbage collection call this for each container that they remove.
 */
import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { openLogFolder } from './open-log-folder.ts';

/**
 * `link` is the result of containerLogSymlink. `logPath` is the path that the runtime reports. The function removes only files
 * below `podLogsDir` and follows no symlink on the way. A folder with the name of a log stays until the pod's logs are removed. Missing
 * files are not an error. Rejects with the file system's error.
 */
export async function removeContainerLogs(podLogsDir: string, logPath: string, link: string): Promise<void> {
  await rm(link, { force: true });
  const folder = await openLogFolder(podLogsDir, logPath);
  if (!folder) return;
  try {
    const { log, path } = folder;
    const files = (await readdir(path, { withFileTypes: true })).filter((entry) => !entry.isDirectory());
    const logs = files.filter(({ name }) => name === log || name.startsWith(`${log}.`));
    await Promise.all(logs.map(({ name }) => rm(join(path, name), { force: true })));
  } finally {
    await folder.handle.close();
  }
}
