/** Nothing of the pod runs any more: its volumes are unmounted, its cgroup is removed (upstream kubelet.go SyncTerminatedPod). */
import type { PodSyncResult } from '../../shared/contracts/pod-sync/result.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { TaskContext } from './dependencies.ts';
import { SyncReport } from './sync-report.ts';

export async function syncTerminatedPod(context: TaskContext): Promise<PodSyncResult> {
  const report = new SyncReport();
  try {
    await takeDown(context);
    return report.result();
  } catch (err) {
    return report.result(err, 'FailedCleanUp');
  }
}

/**
 * The pod is forgotten: what its UID left goes as well (upstream HandlePodCleanups). Volumes first: the folder is not removed while anything
 * is mounted below it.
 */
export async function cleanUpPod(context: TaskContext): Promise<PodSyncResult> {
  const report = new SyncReport();
  try {
    await takeDown(context);
    await context.volumes.removePodDirectory(context.identity.uid as PodUID, context.channel.signal);
    return report.result();
  } catch (err) {
    return report.result(err, 'FailedCleanUp');
  }
}

async function takeDown({ volumes, cgroups, identity, channel }: TaskContext): Promise<void> {
  const uid = identity.uid as PodUID;
  await volumes.unmountVolumes(uid, channel.signal);
  channel.signal.throwIfAborted();
  await cgroups.remove(uid, channel.signal);
  channel.signal.throwIfAborted();
}
