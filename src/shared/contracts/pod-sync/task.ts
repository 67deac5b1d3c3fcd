/**
 * Tasks of the sync pool: one step in the lifecycle of one pod. A task is plain data plus the port of its task channel. Main sends a task again
 * when its thread dies, so each task is idempotent.
 */
import type { MessagePort } from 'node:worker_threads';
import type { Pod, PodStatus } from '../../kubernetes/api.ts';
import type { ContainerID, PodUID } from '../../kubernetes/ids.ts';
import type { NodeInfo } from '../node-info.ts';
import type { RuntimePodStatus } from '../runtime-status.ts';
import type { ActuatedResources, ExclusiveAllocation } from './allocation.ts';
import type { PodSyncNotification } from './channel.ts';
import type { ContainerBackoff, PodSyncResult } from './result.ts';

export type PodSyncTask = SyncPodTask | SyncTerminatingPodTask | SyncTerminatedPodTask | CleanUpPodTask;

interface TaskBase {
  readonly podUID: PodUID;
  readonly node: NodeInfo;
  /** The span of the pod worker's step, with which the task's spans belong. Absent without tracing. */
  readonly traceParent?: string | undefined;
  /** The task's end of its task channel (channel.ts). Transferred with the task. */
  readonly channel: MessagePort;
}

/** Makes the runtime run the pod. */
export interface SyncPodTask extends TaskBase {
  readonly kind: 'sync';
  readonly pod: Pod;
  readonly status: RuntimePodStatus | null;
  /** True: main has every secret and config map of the pod, and its certificates are issued, so the sync does not wait for its volumes. */
  readonly dependenciesReady?: boolean;
  /** True: main knows that all volumes of the pod are mounted. The task then notifies main only when a volume is not. */
  readonly volumesMounted?: boolean;
  /** True: an earlier sync of the pod has failed. The task pulls no image before the pod has a sandbox, since each attempt would count at the registry. */
  readonly isRetry?: boolean;
  /** True: the task starts with the start permit of its sandbox (`sandboxPermitID`). */
  readonly hasSandboxPermit?: boolean;
  /** Main's API status for `status`. The downward API shows its pod IPs. */
  readonly apiStatus: PodStatus;
  readonly backoffs: readonly ContainerBackoff[];
  /** Absent for a pod that is not probed. */
  readonly probes?: ProbeVerdicts;
  /** Containers whose postStart hook was begun by an earlier task, or before a restart of the kubelet, and has not ended. Absent: none. */
  readonly unfinishedHooks?: readonly ContainerID[];
  /** The handler of the pod's RuntimeClass. Absent: the runtime's default. */
  readonly runtimeHandler?: RuntimeHandlerChoice;
  /** The resources that are in force in an admitted pod. Absent: those of its allocation. */
  readonly actuated?: ActuatedResources;
  /** The pod's exclusive resources. Absent: none. */
  readonly allocation?: ExclusiveAllocation;
}

export type ProbeVerdict = 'success' | 'failure';

/** The results of the probes that restart containers or let others start. A container that is not here was not probed yet. */
export interface ProbeVerdicts {
  readonly startup: ReadonlyMap<ContainerID, ProbeVerdict>;
  readonly liveness: ReadonlyMap<ContainerID, ProbeVerdict>;
}

/** The runtime handler of a pod (empty: the runtime's default), or the reason why none could be chosen. */
export type RuntimeHandlerChoice = { readonly handler: string } | { readonly problem: string };

/** Kills every container, then stops the sandboxes. `pod` is null for a pod that only the runtime knows. */
export interface SyncTerminatingPodTask extends TaskBase {
  readonly kind: 'terminating';
  readonly pod: Pod | null;
  readonly status: RuntimePodStatus;
  /** Overrides the pod's own grace period. It only shrinks, also while the task runs (the command `shrinkGracePeriod`). */
  readonly gracePeriodSeconds: number | null;
}

/** No container of the pod runs any more: unmounts its volumes and removes its cgroup. */
export interface SyncTerminatedPodTask extends TaskBase {
  readonly kind: 'terminated';
  readonly pod: Pod;
  readonly status: RuntimePodStatus | null;
}

/** Main has forgotten the pod: removes its directory, after unmounting its volumes and without following mounts, and its cgroup. */
export interface CleanUpPodTask extends TaskBase {
  readonly kind: 'cleanUp';
}

/** The reply of a thread to a task. */
export interface PodSyncTaskReply {
  readonly result: PodSyncResult;
  /** The task's last notifications, in order. They come with the result, which saves main a wakeup. */
  readonly notifications: readonly PodSyncNotification[];
}
