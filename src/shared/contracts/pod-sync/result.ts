/** The result of a task of the sync pool. */
import type { PodCgroupDifference } from './allocation.ts';
import type { PodSandboxStatus } from '../../cri/generated/cri-v1.ts';
import { toFailure, type Failure } from '../../errors/kubelet-error.ts';
import type { ContainerID, SandboxID } from '../../kubernetes/ids.ts';
import type { WaitingReasons } from '../../kubernetes/waiting-reasons.ts';

export type { WaitingReason } from '../../kubernetes/waiting-reasons.ts';

export type PodSyncResult =
  | ({ readonly outcome: 'synced' } & PodSyncReport)
  | ({ readonly outcome: 'failed'; readonly failure: Failure } & PodSyncReport)
  /** The task stopped early because main sent the command `stop` or its channel closed. */
  | ({ readonly outcome: 'stopped' } & PodSyncReport);

export interface PodSyncReport {
  /**
   * The waiting reason of each container that does not run, by container name (CrashLoopBackOff, ErrImagePull, CreateContainerConfigError, …).
   * Complete: a container that is absent here has no waiting reason.
   */
  readonly waiting: WaitingReasons;
  /** The back-offs that the task changed. */
  readonly backoffs: readonly ContainerBackoff[];
  /** Wall-clock ms at which the first back-off of this pod ends. Main syncs the pod again then. */
  readonly retryAtMs?: number;
  /** True: the task changed something in the runtime, so main inspects the pod. */
  readonly changedRuntime: boolean;
  /** Why a resize is not complete. Main syncs the pod again, after a back-off of its own. */
  readonly resizeError?: string;
  /** Null: the pod's cgroup is as it was allocated. Absent: the task has not read it. */
  readonly podCgroup?: PodCgroupDifference | null;
  /** All objects that the task created. Absent when the task cannot be sure of them: the inspection then lists the pod. */
  readonly created?: CreatedObjects;
}

/**
 * The result of a task that an error ended. The only place that turns an error into such a result. The defaults are for a task whose report is
 * lost: it may have changed the runtime.
 * @param reason the failure's reason if the error has none
 */
export function failedResult(
  err: unknown,
  {
    reason = 'FailedSync',
    waiting = {},
    backoffs = [],
    changedRuntime = true,
    ...report
  }: Partial<PodSyncReport> & { readonly reason?: string } = {},
): Extract<PodSyncResult, { readonly outcome: 'failed' }> {
  return { outcome: 'failed', failure: toFailure(err, reason), waiting, backoffs, changedRuntime, ...report };
}

/** CrashLoopBackOff of one container. Main keeps it between tasks. */
export interface ContainerBackoff {
  /** Container name and spec hash: a changed spec resets the back-off. */
  readonly key: string;
  readonly backoffMs: number;
  /** Wall-clock ms of the last step. */
  readonly lastUpdateMs: number;
}

/** The runtime objects that a sync created. */
export interface CreatedObjects {
  readonly sandbox?: CreatedSandbox;
  readonly containers: readonly CreatedContainer[];
}

export interface CreatedSandbox {
  readonly id: SandboxID;
  /** The pod's name and namespace: the pleg thread may not know the pod yet. */
  readonly podName: string;
  readonly podNamespace: string;
  /** The sandbox's status, where the task asked the runtime for it. It saves the inspection that call. */
  readonly status?: PodSandboxStatus;
}

export interface CreatedContainer {
  readonly id: ContainerID;
  readonly sandboxID: SandboxID;
  readonly name: string;
}

/** The pleg thread already knows every object of the pod, so an inspection with this value does not list the pod. */
export const noCreatedObjects: CreatedObjects = { containers: [] };
