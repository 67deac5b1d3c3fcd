/**
 * The log folder of a container, in the layout that log collectors expect: log files are numbered by restart, and one flat folder links to
 * them (upstream kuberuntime_container.go calcRestartCountByLogDir, legacy.go).
 */
import { messageOf } from '../../../../shared/errors/kubelet-error.ts';
import type { Container, EphemeralContainer, Pod } from '../../../../shared/kubernetes/api.ts';
import { containerLogsDirectory } from '../../../../shared/kubernetes/paths.ts';
import type { TaskContext } from '../dependencies.ts';
import { mkdir, readdir, stat, symlink } from '../blocking-fs.ts';

/**
 * Returns one more than the highest number of a log file. Needed when the runtime has forgotten its containers (after a reboot): a new
 * instance must not write into the log of an old one.
 */
export function restartCountFromLogs(logFiles: readonly string[]): number {
  const counts = logFiles.map((file) => /^(?<count>\d+)\.log(?:\..*)?$/.exec(file)?.groups?.['count']).map(Number);
  return Math.max(0, ...counts.filter(Number.isSafeInteger).map((count) => count + 1));
}

/** Returns 0 when the folder does not exist. Rejects when it cannot be read. */
export async function readRestartCount(logDir: string): Promise<number> {
  try {
    return restartCountFromLogs(await readdir(logDir));
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw err;
  }
}

/** Creates the container's log folder. Returns the restart count that follows from the existing logs. Rejects when the folder cannot be created. */
export async function makeLogFolder(
  { settings, logger }: Pick<TaskContext, 'settings' | 'logger'>,
  pod: Pod,
  { name }: Container | EphemeralContainer,
): Promise<number> {
  const logDir = containerLogsDirectory(settings.podLogsDir, pod, name);
  const count = await readRestartCount(logDir).catch((err: unknown) => {
    logger.warn({ err, logDir, container: name }, 'cannot read the restart count from the log folder');
    return 0;
  });
  try {
    await mkdir(logDir, { recursive: true, mode: 0o755 });
  } catch (err) {
    throw new Error(`create container log directory for container ${name} failed: ${messageOf(err)}`, { cause: err });
  }
  return count;
}

/** Creates the link unless it exists. A log that does not exist gets no link, since garbage collection would remove it again. */
export async function createLogSymlink(logPath: string, link: string): Promise<void> {
  try {
    await stat(logPath);
    await symlink(logPath, link);
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    if (code !== 'ENOENT' && code !== 'EEXIST') throw err;
  }
}
