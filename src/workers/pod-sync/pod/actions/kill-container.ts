/** Stops one container. A later action may start a container of the same name again. */
import type { PodActions } from '../compute-pod-actions/index.ts';
import { podIPForHooks } from '../hooks/index.ts';
import { killContainer } from '../kill/index.ts';
import { rpcErrorOf } from '../pod-runtime.ts';
import { podActionType } from './pod-action-type.ts';

export const killContainerAction = podActionType({
  type: 'KillContainer',
  waitsForVolumes: true,
  list: ({ killPod, containersToKill }: Pick<PodActions, 'killPod' | 'containersToKill'>) => (killPod ? [] : containersToKill),
  execute: async ({ context, task: { status }, report }, { id, name, message, reason }) => {
    const podIP = podIPForHooks(context, status?.podIPs ?? []);
    report.changedRuntime = true;
    const orphan = status?.containers.find((container) => container.id === id)?.orphan;
    try {
      await killContainer(context, { id, name, message, reason, gracePeriodOverrideSeconds: null, podIP, ...(orphan && { orphan }) });
    } catch (err) {
      context.channel.signal.throwIfAborted();
      report.fail({ action: 'KillContainer', target: name, reason: 'KillContainerError', message: rpcErrorOf(err) });
      return 'stop';
    }
    return 'continue';
  },
});
