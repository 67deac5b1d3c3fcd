/** Runs the postStart hook of a running container again, because the kubelet or the thread ended during the first run. */
import { toFailure } from '../../../../shared/errors/kubelet-error.ts';
import type { PodActions } from '../compute-pod-actions/index.ts';
import { runPostStart } from '../start/index.ts';
import { podActionType } from './pod-action-type.ts';

export const repeatPostStartHookAction = podActionType({
  type: 'RepeatPostStartHook',
  waitsForVolumes: true,
  list: ({ hooksToRepeat }: Pick<PodActions, 'hooksToRepeat'>) => hooksToRepeat,
  execute: async ({ context, task: { status }, report }, { id, container }) => {
    context.logger.info({ container: container.name, containerID: id }, 'The postStart hook was interrupted: running it again');
    // Main must inspect the pod: the container's status changes when its hook ends.
    report.changedRuntime = true;
    try {
      await runPostStart(context, container, id, status?.podIPs);
    } catch (err) {
      context.channel.signal.throwIfAborted();
      const { reason, message } = toFailure(err, 'PostStartHookError');
      report.fail({ action: 'StartContainer', target: container.name, reason, message });
    }
    return 'continue';
  },
});
