/** Cleans up a pod whose containers have all stopped: unmounts its volumes and removes its cgroup (upstream kubelet.go SyncTerminatedPod). */

import type { PodSyncResult } from '../../../shared/contracts/pod-sync/result.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { TaskContext } from './dependencies.ts';
import { inPhase } from './in-phase.ts';
import { SyncReport } from './sync-report.ts';

export async function syncTerminatedPod(context: TaskContext): Promise<PodSyncResult> {
  const report = new SyncReport();
  try {
    await unmountAndRemoveCgroup(context);
    return report.result();
  } catch (err) {
    return report.result(err, 'FailedCleanUp');
  }
}

/**
 * Also removes the folder of a pod that main has forgotten (upstream HandlePodCleanups). Volumes come first: the folder is not removed while
 * anything is mounted below it.
 */
export async function cleanUpPod(context: TaskContext): Promise<PodSyncResult> {
  const report = new SyncReport();
  try {
    await unmountAndRemoveCgroup(context);
    const { volumes, identity, channel } = context;
    await inPhase(context, 'CleanUp', {}, () =>
      volumes.removePodDirectory(identity.uid as PodUID, channel.signal, (folder) => channel.unpublishVolume(folder)),
    );
    return report.result();
  } catch (err) {
    return report.result(err, 'FailedCleanUp');
  }
}

async function unmountAndRemoveCgroup(context: TaskContext): Promise<void> {
  const { volumes, cgroups, identity, channel } = context;
  const uid = identity.uid as PodUID;
  await inPhase(context, 'VolumeUnmount', {}, () =>
    volumes.unmountVolumes(uid, channel.signal, (folder) => channel.unpublishVolume(folder)),
  );
  channel.signal.throwIfAborted();
  await inPhase(context, 'CgroupRemoval', {}, () => cgroups.remove(uid, channel.signal));
  channel.signal.throwIfAborted();
}
