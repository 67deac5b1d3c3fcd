/**
 * What a container that has ended says about why. Decided purely (where to look), then read: from a file that the pod wrote,
 * so nothing about it is trusted; or from the end of its log. Upstream: getTerminationMessage and
 * readLastStringFromContainerLogs (pkg/kubelet/kuberuntime/kuberuntime_container.go).
 */
import { realpath } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import { ContainerState, type ContainerStatus } from '../../../shared/cri/generated/cri-v1.ts';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { isWithin } from '../../../shared/linux/mountinfo.ts';
import { openChecked } from '../../../shared/linux/open-checked.ts';
import { readContainerAnnotations } from './container-annotations.ts';
import { readLogTail } from './log-tail.ts';

/** Of the file; and of the log, in lines and bytes (upstream pkg/kubelet/container MaxContainerTerminationMessage…). */
const maxMessageBytes = 4096;
const maxLogLines = 80;
const maxLogBytes = 2048;

export interface TerminationMessageSource {
  /** On the host; undefined: the container has none. */
  readonly file?: string;
  /** Where the file says nothing. */
  readonly log?: string;
}

/** The folders of the node in which messages lie. */
export interface TerminationMessageFolders {
  readonly rootDir: string;
  readonly podLogsDir: string;
}

/** Where a container's termination message is to be found; neither for one that has not ended. */
export function terminationMessageSource(status: ContainerStatus): TerminationMessageSource {
  if (status.state !== ContainerState.CONTAINER_EXITED) return {};
  const { terminationMessagePath, terminationMessagePolicy } = readContainerAnnotations(status.annotations);
  // What could not even be started has no log.
  const fallsBack = terminationMessagePolicy === 'FallbackToLogsOnError' && status.exitCode !== 0 && status.reason !== 'ContainerCannotRun';
  const path = terminationMessagePath === '' ? undefined : resolve('/', terminationMessagePath);
  // The kubelet's own mount is the last: it hides a volume at the same place.
  const file = path === undefined ? undefined : status.mounts.findLast(({ containerPath }) => containerPath === path)?.hostPath;
  return { ...(file !== undefined && { file }), ...(fallsBack && { log: status.logPath }) };
}

/** The message; what went wrong in reading it is itself the message, as upstream's, so that the pod's owner sees it. Never rejects. */
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
 * At most so many bytes of a regular file's end. The path has no links but those of the root dir itself: the pod's own file is in a folder
 * that the kubelet made, and a volume's file could be exchanged for a link to a file of the host by who writes in the volume.
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
