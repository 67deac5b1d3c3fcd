/**
 * The logs of a container, as everyone who collects them expects to find them: numbered by restart, and linked from one flat
 * folder (upstream kuberuntime_container.go calcRestartCountByLogDir, legacy.go).
 */
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { Container, EphemeralContainer, Pod } from '../../../shared/kubernetes/api.ts';
import { containerLogsDirectory } from '../../../shared/kubernetes/paths.ts';
import type { TaskContext } from '../dependencies.ts';
import { mkdir, readdir, stat, symlink } from '../blocking-fs.ts';

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
    return restartCountAfter(await readdir(logDir));
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw err;
  }
}

/** Makes the container's log folder; answers the restart count after the logs that are there already. Rejects when it cannot be made. */
export async function makeLogFolder(
  { settings, logger }: Pick<TaskContext, 'settings' | 'logger'>,
  pod: Pod,
  { name }: Container | EphemeralContainer,
): Promise<number> {
  const logDir = containerLogsDirectory(settings.podLogsDir, pod, name);
  const count = await restartCountByLogs(logDir).catch((err: unknown) => {
    logger.warn({ err, logDir, container: name }, 'cannot tell the restart count from the log folder');
    return 0;
  });
  try {
    await mkdir(logDir, { recursive: true, mode: 0o755 });
  } catch (err) {
    throw new Error(`create container log directory for container ${name} failed: ${messageOf(err)}`, { cause: err });
  }
  return count;
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
