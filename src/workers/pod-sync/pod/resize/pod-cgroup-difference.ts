/** What the status of a pod says of its cgroup. Upstream: convertToAPIPodLevelResourcesStatus in kubelet_pods.go, which reads the cgroup for each status. */
import type { PodCgroupDifference } from '../../../../shared/contracts/pod-sync/allocation.ts';
import type { SyncPodTask } from '../../../../shared/contracts/pod-sync/task.ts';
import type { TaskContext } from '../dependencies.ts';

/** Returns null when the cgroup is as it was allocated; undefined when no status shows it, or it can't be read. Never rejects. */
export async function podCgroupDifference(
  { cgroups, settings, logger }: TaskContext,
  { pod, status }: SyncPodTask,
): Promise<PodCgroupDifference | null | undefined> {
  // A new pod's cgroup is as it was just made.
  if (!status || !settings.featureGates.InPlacePodLevelResourcesVerticalScaling) return undefined;
  try {
    return await cgroups.difference(pod);
  } catch (err) {
    logger.warn({ err }, 'cannot read the cgroup of a pod');
    return undefined;
  }
}
