/** Kills and removes all containers of a pod, so that they start as new ones (RestartAllContainers). */
import type { ContainerToReset, PodActions } from '../compute-pod-actions/index.ts';
import { podIPForHooks } from '../hooks/index.ts';
import { killContainer, removeContainer } from '../kill/index.ts';
import { rpcErrorOf } from '../pod-runtime.ts';
import { podActionType } from './pod-action-type.ts';

export const resetContainersAction = podActionType({
  type: 'ResetContainers',
  waitsForVolumes: true,
  list: ({ killPod, containersToReset }: Pick<PodActions, 'killPod' | 'containersToReset'>) =>
    killPod || containersToReset.length === 0 ? [] : [containersToReset],
  execute: async ({ context, task: { status }, report }, containers) => {
    const resetAtMs = computeResetTime(containers, context.clock.now());
    if (resetAtMs !== undefined) {
      report.retryAt(resetAtMs);
      return 'stop';
    }
    const podIP = podIPForHooks(context, status?.podIPs ?? []);
    for (const { id, name, kill } of containers) {
      report.changedRuntime = true;
      const request = { id, name, message: 'killing', reason: 'RestartAllContainers', gracePeriodOverrideSeconds: 0, podIP } as const;
      try {
        if (kill) await killContainer(context, request);
        await removeContainer(context, { id, name, logPath: '' }, true);
      } catch (err) {
        context.channel.signal.throwIfAborted();
        report.fail({ action: 'RemoveContainer', target: name, reason: 'RemoveContainerError', message: rpcErrorOf(err) });
        return 'stop';
      }
    }
    // The next sync starts all containers again, once the runtime's status shows that they are gone.
    report.retryAt(context.clock.now());
    return 'continue';
  },
});

/**
 * Containers that RestartAllContainers has removed have no back-off. Without this delay, a container whose exit triggers a reset right after each start
 * would occupy the runtime. A second is upstream's relist period: upstream notices an exit no sooner.
 */
const resetDelayMs = 1000;

/** Returns the wall-clock ms at which the containers are reset; undefined when they are reset now. A trigger in the future is due: the clock was set back. */
export function computeResetTime(containers: readonly ContainerToReset[], nowMs: number): number | undefined {
  const triggeredAtMs = Math.min(...containers.map((container) => container.triggeredAtMs ?? Infinity));
  return nowMs >= triggeredAtMs && nowMs < triggeredAtMs + resetDelayMs ? triggeredAtMs + resetDelayMs : undefined;
}
