/**
 * Terminates a pod: stops every container within its grace period, then the sandboxes (upstream kubelet.go SyncTerminatingPod and
 * SyncTerminatingRuntimePod).
 */

import type { PodSyncResult } from '../../shared/contracts/pod-sync/result.ts';
import type { SyncTerminatingPodTask } from '../../shared/contracts/pod-sync/task.ts';
import { KubeletError } from '../../shared/errors/kubelet-error.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { TaskContext } from './dependencies.ts';
import { inPhase } from './in-phase.ts';
import { killPod, minimumGraceSeconds } from './kill/index.ts';
import { aggregateFailures, SyncReport } from './sync-report.ts';

export async function syncTerminatingPod(
  context: TaskContext,
  { status, gracePeriodSeconds }: SyncTerminatingPodTask,
): Promise<PodSyncResult> {
  const report = new SyncReport();
  report.changedRuntime = status.containers.length > 0 || status.sandboxes.length > 0;
  try {
    const startedAtMs = context.clock.monotonic();
    await context.cgroups.thaw(context.identity.uid as PodUID);
    const failure = aggregateFailures(await killPod(context, status, gracePeriodSeconds, (signal) => whileSandboxesStop(context, signal)));
    if (!failure) return report.result();
    if (gracePeriodSeconds !== null && gracePeriodSeconds <= minimumGraceSeconds) await killProcesses(context, startedAtMs);
    context.events.onPod('Warning', 'FailedKillPod', `error killing pod: ${failure.message}`);
    return report.result(new KubeletError('FailedKillPod', `error killing terminating pod: ${failure.message}`));
  } catch (err) {
    return report.result(err);
  }
}

/**
 * Kills the processes of a pod that has no time left, since the runtime cannot end it: a hard eviction must free what the pod uses up. A runtime needs a
 * process to kill a container, and there may be none left, for the pod's own sake. The next attempt finds the containers ended.
 */
async function killProcesses({ clock, cgroups, channel, identity, logger }: TaskContext, startedAtMs: number): Promise<void> {
  await clock.sleep(Math.max(0, startedAtMs + minimumGraceSeconds * 1000 - clock.monotonic()), channel.signal);
  logger.warn('The runtime could not stop a pod that has no time left: killing its processes');
  await cgroups.kill(identity.uid as PodUID, channel.signal);
}

/** Notifies main first: the pod's status need not wait for the teardown of its network. */
function whileSandboxesStop(context: TaskContext, signal: AbortSignal): Promise<void> {
  context.channel.containersEnded();
  return unmountEarly(context, signal);
}

/**
 * Unmounts volumes while the sandbox stops, since only containers need them; upstream waits for the sandbox first. Volumes that are not
 * unmounted by then are left to syncTerminatedPod.
 */
async function unmountEarly(context: TaskContext, signal: AbortSignal): Promise<void> {
  const { identity, volumes, logger } = context;
  if (!identity.pod) return;
  await inPhase(context, 'VolumeUnmount', {}, () => volumes.unmountVolumes(identity.uid as PodUID, signal)).catch((err: unknown) =>
    logger.debug({ err }, 'volumes are not unmounted before the sandbox has stopped'),
  );
}
