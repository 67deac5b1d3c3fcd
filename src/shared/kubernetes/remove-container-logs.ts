/**
 * Removes what a dead container has logged: its log, what rotation made of it, and its link in the node's flat log folder (upstream
 * kuberuntime_gc.go removeContainerLog). Done by syncs and by garbage collection, each for the containers that it removes.
 */
import { open, readdir, readlink, realpath, rm } from 'node:fs/promises';
import { constants } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { openPath } from '../linux/directory-calls.ts';
import { isWithin } from '../linux/mountinfo.ts';

/**
 * `link`: of containerLogSymlink. `logPath` is what the runtime says: nothing is removed that is not below `podLogsDir`, nor through
 * a link on the way, which a pod that collects logs could put there at any time. What is gone already is a success; rejects with the file
 * system's error.
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
