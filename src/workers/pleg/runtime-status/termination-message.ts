/**
 * Reads the termination message of an exited container. A pure function decides on the source: a file that the pod wrote, which is
 * untrusted, or the end of the container's log. Upstream: getTerminationMessage and readLastStringFromContainerLogs
 * (pkg/kubelet/kuberuntime/kuberuntime_container.go).
 */
import { realpath } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { ContainerState, type ContainerStatus } from '../../../shared/cri/generated/cri-v1.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { isWithin } from '../../../shared/linux/mountinfo.ts';
import { openChecked } from '../../../shared/linux/open-checked.ts';
import { readContainerAnnotations } from './container-annotations.ts';
import { readLogTail } from './log-tail.ts';

/** The limits of the file and of the log (upstream pkg/kubelet/container MaxContainerTerminationMessage…). */
const maxMessageBytes = 4096;
const maxLogLines = 80;
const maxLogBytes = 2048;

export interface TerminationMessageSource {
  /** The path on the host. Undefined when the container has no message file. */
  readonly file?: string;
  /** The fallback when the file is empty. */
  readonly log?: string;
}

/** The node's directories with message files and logs. */
export interface TerminationMessageFolders {
  readonly rootDir: string;
  readonly podLogsDir: string;
}

/** Returns where to find a container's termination message. Empty unless the container exited. */
export function terminationMessageSource(status: ContainerStatus): TerminationMessageSource {
  if (status.state !== ContainerState.CONTAINER_EXITED) return {};
  const { terminationMessagePath, terminationMessagePolicy } = readContainerAnnotations(status.annotations);
  // A container that failed to start has no log.
  const fallsBack = terminationMessagePolicy === 'FallbackToLogsOnError' && status.exitCode !== 0 && status.reason !== 'ContainerCannotRun';
  const path = terminationMessagePath === '' ? undefined : resolve('/', terminationMessagePath);
  // Runtimes keep a path as it was written, such as `/app//x/`. The kubelet's mount is the last and covers a volume at the same path.
  const file =
    path === undefined ? undefined : status.mounts.findLast(({ containerPath }) => resolve('/', containerPath) === path)?.hostPath;
  return { ...(file !== undefined && { file }), ...(fallsBack && { log: status.logPath }) };
}

/** Reads the message. As upstream, a read error becomes the message, so the pod's owner sees it. Never rejects. */
export async function readTerminationMessage(
  { file, log }: TerminationMessageSource,
  { rootDir, podLogsDir }: TerminationMessageFolders,
): Promise<string> {
  if (file !== undefined) {
    try {
      const message = await readFileEnd(file, rootDir, maxMessageBytes);
      if (message !== '') return message;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'ENOENT') return `Error on reading termination log ${file}: ${messageOf(err)}`;
    }
  }
  if (log === undefined) return '';
  try {
    return await readLogTail(log, podLogsDir, { maxLines: maxLogLines, maxBytes: maxLogBytes });
  } catch (err) {
    return `Error on reading termination message from logs: ${messageOf(err)}`;
  }
}

/**
 * Reads at most `maxBytes` from the end of a regular file. Rejects paths with symlinks, except those of the root directory: the pod's own
 * file is in a directory that the kubelet created, and a program that can write to a volume could replace a file by a symlink to a file
 * of the host.
 */
async function readFileEnd(path: string, rootDir: string, maxBytes: number): Promise<string> {
  const expected = isWithin(path, rootDir) ? join(await realpath(rootDir), relative(rootDir, path)) : path;
  const { handle, stats } = await openChecked(path, (place) => {
    if (place.realPath !== expected) throw new Error('it is reached by a symlink');
    if (!place.stats.isFile()) throw new Error('not a regular file');
  });
  try {
    const length = Math.min(stats.size, maxBytes);
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, stats.size - length);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await handle.close();
  }
}
