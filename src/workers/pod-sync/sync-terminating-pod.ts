/** Ends a pod: every container within its grace period, then the sandboxes (upstream kubelet.go SyncTerminatingPod and SyncTerminatingRuntimePod). */
import type { PodSyncResult, SyncTerminatingPodTask } from '../../shared/contracts/pod-sync.ts';
import { KubeletError } from '../../shared/errors/kubelet-error.ts';
import type { TaskContext } from './dependencies.ts';
import { killPod } from './kill/kill-pod.ts';
import { aggregate, SyncReport } from './sync-report.ts';

export async function syncTerminatingPod(
  context: TaskContext,
  { status, gracePeriodSeconds }: SyncTerminatingPodTask,
): Promise<PodSyncResult> {
  const report = new SyncReport();
  report.changedRuntime = status.containers.length > 0 || status.sandboxes.length > 0;
  try {
    const failure = aggregate(await killPod(context, status, gracePeriodSeconds));
    if (!failure) return report.result();
    context.events.onPod('Warning', 'FailedKillPod', `error killing pod: ${failure.message}`);
    return report.result(new KubeletError('FailedKillPod', `error killing terminating pod: ${failure.message}`));
  } catch (err) {
    return report.result(err);
  }
}
