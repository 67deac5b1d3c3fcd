/**
 * Runs the postStart hook of a container that was started (upstream kuberuntime_container.go startContainer), or runs it again when a kubelet or a thread has
 * ended during the hook. Kubernetes promises that a hook is delivered at least once.
 */
import { untilAborted } from '../../../../shared/concurrency/until-aborted.ts';
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import { toFailure } from '../../../../shared/errors/kubelet-error.ts';
import type { Container, EphemeralContainer } from '../../../../shared/kubernetes/api.ts';
import type { ContainerID } from '../../../../shared/kubernetes/ids.ts';
import type { PodActions } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { podIPForHooks, runHook } from '../hooks/index.ts';
import { inPhase } from '../in-phase.ts';
import { killContainer } from '../kill/index.ts';
import type { SyncReport } from '../sync-report.ts';
import { removePostStartRecord } from './post-start-record.ts';

/**
 * Rejects with KubeletError PostStartHookError, or with Stopped. A failed hook kills the container. A stop of the task ends the wait for the hook, and not the
 * hook when the pod ends: the next task terminates the pod. The end of the kubelet keeps the record of the hook.
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

/** Runs them one after the other, as containers start. Rejects with Stopped only; failures go to the report. */
export async function repeatPostStartHooks(
  context: TaskContext,
  { status }: SyncPodTask,
  hooks: PodActions['hooksToRepeat'],
  report: SyncReport,
): Promise<void> {
  for (const { id, container } of hooks) {
    context.logger.info({ container: container.name, containerID: id }, 'The postStart hook was interrupted: running it again');
    // The status of a container whose hook has ended is another one.
    report.changedRuntime = true;
    try {
      await runPostStart(context, container, id, status?.podIPs);
    } catch (err) {
      context.channel.signal.throwIfAborted();
      const { reason, message } = toFailure(err, 'PostStartHookError');
      report.fail({ action: 'StartContainer', target: container.name, reason, message });
    }
  }
}
