/**
 * What a container that has ended says about why. Decided purely (where to look), then read: from a file that the pod wrote,
 * so nothing about it is trusted; or from the end of its log. Upstream: getTerminationMessage and
 * readLastStringFromContainerLogs (pkg/kubelet/kuberuntime/kuberuntime_container.go).
 */
import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { resolve } from 'node:path';
import { ContainerState, type ContainerStatus } from '../../shared/cri/generated/cri-v1.ts';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
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

/** Where a container's termination message is to be found; neither for one that has not ended. */
export function terminationMessageSource(status: ContainerStatus): TerminationMessageSource {
  if (status.state !== ContainerState.CONTAINER_EXITED) return {};
  const { terminationMessagePath, terminationMessagePolicy } = readContainerAnnotations(status.annotations);
  // What could not even be started has no log.
  const fallsBack = terminationMessagePolicy === 'FallbackToLogsOnError' && status.exitCode !== 0 && status.reason !== 'ContainerCannotRun';
  const path = terminationMessagePath === '' ? undefined : resolve('/', terminationMessagePath);
  const file = path === undefined ? undefined : status.mounts.find(({ containerPath }) => containerPath === path)?.hostPath;
  return { ...(file !== undefined && { file }), ...(fallsBack && { log: status.logPath }) };
}

/** The message; what went wrong in reading it is itself the message, as upstream's, so that the pod's owner sees it. Never rejects. */
export async function readTerminationMessage({ file, log }: TerminationMessageSource): Promise<string> {
  if (file !== undefined) {
    try {
      const message = await readFileEnd(file, maxMessageBytes);
      if (message !== '') return message;
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'ENOENT') return `Error on reading termination log ${file}: ${messageOf(err)}`;
    }
  }
  if (log === undefined) return '';
  try {
    return await readLogTail(log, { maxLines: maxLogLines, maxBytes: maxLogBytes });
  } catch (err) {
    return `Error on reading termination message from logs: ${messageOf(err)}`;
  }
}

/** At most so many bytes of a regular file's end. The pod may have put a link, a pipe or a device there: none is opened for long or followed. */
async function readFileEnd(path: string, maxBytes: number): Promise<string> {
  const file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY);
  try {
    const stat = await file.stat();
    if (!stat.isFile()) throw new Error('not a regular file');
    const length = Math.min(stat.size, maxBytes);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, stat.size - length);
    return buffer.toString('utf8', 0, bytesRead);
  } finally {
    await file.close();
  }
}
