/**
 * Terminates a pod: stops every container within its grace period, then the sandboxes (upstream kubelet.go SyncTerminatingPod and
 * SyncTerminatingRuntimePod).
 */

import type { PodSyncResult } from '../../../shared/contracts/pod-sync/result.ts';
import type { SyncTerminatingPodTask } from '../../../shared/contracts/pod-sync/task.ts';
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { TaskContext } from './dependencies.ts';
import { inPhase } from './in-phase.ts';
import { killPod, OverdueKill } from './kill/index.ts';
import { aggregateFailures, SyncReport } from './sync-report.ts';

export async function syncTerminatingPod(
  context: TaskContext,
  { status, gracePeriodSeconds }: SyncTerminatingPodTask,
): Promise<PodSyncResult> {
  const report = new SyncReport();
  report.changedRuntime = status.containers.length > 0 || status.sandboxes.length > 0;
  const overdueKill = new OverdueKill(context, gracePeriodSeconds);
  try {
    await context.cgroups.thaw(context.identity.uid as PodUID);
    const failure = aggregateFailures(await killPod(context, status, gracePeriodSeconds, (signal) => whileSandboxesStop(context, signal)));
    if (!failure) return report.result();
    await overdueKill.onFailure();
    context.events.onPod('Warning', 'FailedKillPod', `error killing pod: ${failure.message}`);
    return report.result(new KubeletError('FailedKillPod', `error killing terminating pod: ${failure.message}`));
  } catch (err) {
    return report.result(err);
  } finally {
    overdueKill.close();
  }
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
  const { identity, volumes, channel, logger } = context;
  if (!identity.pod) return;
  await inPhase(context, 'VolumeUnmount', {}, () =>
    volumes.unmountVolumes(identity.uid as PodUID, signal, (folder) => channel.unpublishVolume(folder)),
  ).catch((err: unknown) => logger.debug({ err }, 'volumes are not unmounted before the sandbox has stopped'));
}
