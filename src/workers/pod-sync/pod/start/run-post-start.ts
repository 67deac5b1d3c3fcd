/**
 * Runs the postStart hook of a container that was started (upstream kuberuntime_container.go startContainer), or runs it again when a kubelet or a thread has
 * ended during the hook. Kubernetes promises that a hook is delivered at least once.
 */
import { untilAborted } from '../../../../shared/concurrency/until-aborted.ts';
import type { Container, EphemeralContainer } from '../../../../shared/kubernetes/api.ts';
import type { ContainerID } from '../../../../shared/kubernetes/ids.ts';
import type { TaskContext } from '../dependencies.ts';
import { podIPForHooks, runHook } from '../hooks/index.ts';
import { inPhase } from '../in-phase.ts';
import { killContainer } from '../kill/index.ts';
import { removePostStartRecord } from './post-start-record.ts';

/**
 * Rejects with KubeletError PostStartHookError, or with Stopped. A failed hook kills the container. A stop of the task ends the wait for the hook. When the task
 * stops because the pod ends, the hook itself runs on while the next task terminates the pod. When the kubelet ends, the hook's record stays.
 */
export async function runPostStart(
  context: TaskContext,
  { name, ports = [], lifecycle }: Container | EphemeralContainer,
  id: ContainerID,
  podIPs: readonly string[] = [],
): Promise<void> {
  const handler = lifecycle?.postStart;
  if (!handler) return;
  const podIP = podIPForHooks(context, podIPs);
  const { channel, events, logger } = context;
  try {
    const hook = { handler, containerID: id, container: name, ports, podIP };
    await inPhase(context, 'PostStart', { container: name }, () =>
      untilAborted(runHook(context, hook, 'PostStartHookError', channel.abandoned), channel.signal),
    );
  } catch (err) {
    channel.signal.throwIfAborted();
    logger.warn({ err, container: name, containerID: id }, 'postStart hook failed');
    events.onContainer(name, 'Warning', 'FailedPostStartHook', 'PostStartHook failed', id);
    const kill = {
      id,
      name,
      message: 'FailedPostStartHook',
      reason: 'FailedPostStartHook',
      gracePeriodOverrideSeconds: null,
      podIP,
    } as const;
    await killContainer(context, kill).catch((killErr: unknown) => {
      channel.signal.throwIfAborted();
      logger.warn({ err: killErr, container: name, containerID: id }, 'cannot kill a container after its postStart hook failed');
    });
    throw err;
  } finally {
    if (!channel.abandoned.aborted) await removePostStartRecord(context, id);
  }
}
