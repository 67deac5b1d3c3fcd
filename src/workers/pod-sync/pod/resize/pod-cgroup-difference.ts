/**
 * Reads for the pod's status whether the pod's cgroup has the allocated values. Upstream: convertToAPIPodLevelResourcesStatus in kubelet_pods.go, which reads
 * the cgroup for each status.
 */
import type { PodCgroupDifference } from '../../../../shared/contracts/pod-sync/allocation.ts';
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import type { TaskContext } from '../dependencies.ts';

/** Returns null when the cgroup has the allocated values; undefined when the status does not show the cgroup, or the cgroup can't be read. Never rejects. */
export async function podCgroupDifference(
  { cgroups, settings, logger }: TaskContext,
  { pod, status }: SyncPodTask,
): Promise<PodCgroupDifference | null | undefined> {
  // A new pod's cgroup was just created with the allocated values.
  if (!status || !settings.featureGates.InPlacePodLevelResourcesVerticalScaling) return undefined;
  try {
    return await cgroups.difference(pod);
  } catch (err) {
    logger.warn({ err }, 'cannot read the cgroup of a pod');
    return undefined;
  }
}
