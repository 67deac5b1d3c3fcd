/**
 * The logs of a container, as everyone who collects them expects to find them: numbered by restart, and linked from one flat
 * folder (upstream kuberuntime_container.go calcRestartCountByLogDir, legacy.go).
 */
import { readdir, rm, stat, symlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** ext4's longest file name. */
const maxFileName = 255;
const suffix = '.log';

/**
 * The restart count after the logs that are there: one more than the highest. For a runtime that forgot its containers (the node
 * was rebooted): a new instance must not write into an old one's log.
 */
export function restartCountAfter(logFiles: readonly string[]): number {
  const counts = logFiles.map((file) => /^(?<count>\d+)\.log(?:\..*)?$/.exec(file)?.groups?.['count']).map(Number);
  return Math.max(0, ...counts.filter(Number.isSafeInteger).map((count) => count + 1));
}

/** 0 when there is no folder. Rejects when it cannot be read. */
export async function restartCountByLogs(logDir: string): Promise<number> {
  try {
    const entries = await readdir(logDir, { withFileTypes: true });
    return restartCountAfter(entries.filter((entry) => !entry.isDirectory()).map(({ name }) => name));
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw err;
  }
}

/** `<pod>_<namespace>_<container>-<id>.log`, cut so that it is a file name. */
export function logSymlinkName(podName: string, namespace: string, container: string, containerID: string): string {
  return `${podName}_${namespace}_${container}-${containerID}`.slice(0, maxFileName - suffix.length) + suffix;
}

/** A link to a log that does not exist would only be swept away again. A link that is there is left. */
export async function linkLog(logPath: string, link: string): Promise<void> {
  try {
    await stat(logPath);
    await symlink(logPath, link);
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'EEXIST') throw err;
  }
}

/** Removes a container's log with all that rotation made of it, and the link to it. */
export async function removeLogs(logPath: string, link: string): Promise<void> {
  await rm(link, { force: true });
  if (logPath === '') return;
  const folder = dirname(logPath);
  const files = await readdir(folder).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return [];
    throw err;
  });
  const name = basename(logPath);
  for (const file of files) {
    if (file === name || file.startsWith(`${name}.`)) await rm(join(folder, file), { force: true });
  }
}
