/**
 * Removes the logs of a dead container: the log, its rotated files, and its symlink in /var/log/containers (upstream
 * kuberuntime_gc.go removeContainerLog). Pod syncs and garbage collection call this for each container that they remove.
 */
import { open, readdir, readlink, realpath, rm } from 'node:fs/promises';
import { constants } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { openPath } from '../linux/directory-calls.ts';
import { isWithin } from '../linux/mountinfo.ts';

/**
 * `link` is the result of containerLogSymlink. `logPath` is the path that the runtime reports. The function removes only files
 * below `podLogsDir` and follows no symlink on the way, because a pod that collects logs could create one at any time. Missing
 * files are not an error. Rejects with the file system's error.
 */
export async function removeContainerLogs(podLogsDir: string, logPath: string, link: string): Promise<void> {
  await rm(link, { force: true });
  if (!logPath.startsWith(`${podLogsDir}/`) || logPath.split('/').includes('..')) return;
  const handle = await open(dirname(logPath), openPath | constants.O_DIRECTORY | constants.O_NOFOLLOW).catch(ifNoFolder);
  if (!handle) return;
  try {
    const folder = `/proc/self/fd/${handle.fd}`;
    if (!isWithin(await readlink(folder), await realpath(podLogsDir))) return;
    const log = basename(logPath);
    const names = (await readdir(folder)).filter((name) => name === log || name.startsWith(`${log}.`));
    await Promise.all(names.map((name) => rm(join(folder, name), { force: true })));
  } finally {
    await handle.close();
  }
}

function ifNoFolder(err: NodeJS.ErrnoException): undefined {
  if (err.code !== 'ENOENT' && err.code !== 'ENOTDIR' && err.code !== 'ELOOP') throw err;
}
