/**
 * The task channel: one MessagePort pair per sent task. A task requests from main what only main may do, and notifies main of what happens
 * before its result; main replies, and sends commands. A reply has the `type` and the `id` of its request.
 */
import type { ContainerID } from '../../kubernetes/ids.ts';
import type { RecordedEvent } from '../event.ts';
import type { EnsureImageRequest, EnsureImageResult } from '../images.ts';
import type { PodObjectRef, PodObjectResult } from '../pod-objects.ts';
import type { PublishedFolder, PublishedVolumeResult, UnpublishedVolumeResult } from '../published-volumes.ts';
import type { PhaseReport } from '../timeline.ts';
import type { WaitingReason } from './result.ts';
import type { ActuatedResources } from './allocation.ts';

/** The `id` of the permit that comes with a task, also once the permit is transferred to a container. No request has this ID. */
export const sandboxPermitID = -1;

/** Task to main. The task posts them in arrays: each post wakes main, and main has priority over all other threads. */
export type MessageToMain = PodSyncRequest | PodSyncNotification;

/** Main to task, one per post. */
export type MessageToTask = PodSyncReply | PodSyncCommand;

/** Task to main; main replies. */
export type PodSyncRequest =
  | { readonly type: 'ensureImage'; readonly id: number; readonly image: EnsureImageRequest }
  /** Sent before the task starts a sandbox or a container. The task releases the permit when that call to the runtime has ended. */
  | { readonly type: 'startPermit'; readonly id: number; readonly kind: 'sandbox' | 'container' }
  /** Objects of the API server that the pod's volumes and environment need, if they are not longer than `maxBytes` in total. */
  | { readonly type: 'podObjects'; readonly id: number; readonly refs: readonly PodObjectRef[]; readonly maxBytes: number }
  /** Publishes a volume of the pod that outlives it, or that other pods share. `volume` is its name in the pod. */
  | { readonly type: 'publishVolume'; readonly id: number; readonly volume: string }
  /** Ends what is published in a folder of the pod, which may be unknown. */
  | { readonly type: 'unpublishVolume'; readonly id: number; readonly folder: PublishedFolder }
  /** Sent before the task stops running containers in order to restart them. Main publishes no stop of these containers from its reply on. */
  | { readonly type: 'beginRestart'; readonly id: number; readonly containers: readonly ContainerID[] }
  /** Sent before a container is created with other resources than the record has. The reply comes when the record is durable, or can't be written. */
  | { readonly type: 'recordActuated'; readonly id: number; readonly actuated: ActuatedResources };

/** Main to task, for one request. */
export type PodSyncReply =
  | { readonly type: 'ensureImage'; readonly id: number; readonly result: EnsureImageResult }
  | { readonly type: 'startPermit'; readonly id: number }
  /** One result for each requested reference, in the same order. Null: they have more than `maxBytes`. */
  | { readonly type: 'podObjects'; readonly id: number; readonly results: readonly PodObjectResult[] | null; readonly bytes: number }
  /** The reply does not wait for a slow driver: main syncs the pod again when the volume is ready. */
  | { readonly type: 'publishVolume'; readonly id: number; readonly result: PublishedVolumeResult }
  | { readonly type: 'unpublishVolume'; readonly id: number; readonly result: UnpublishedVolumeResult }
  /** `allowed` is false when main knows that one of the containers has exited by itself. */
  | { readonly type: 'beginRestart'; readonly id: number; readonly allowed: boolean }
  | { readonly type: 'recordActuated'; readonly id: number };

/** Task to main; no reply. */
export type PodSyncNotification =
  /** The sandbox of this permit has started. The permit now counts for the first container of the sandbox. */
  | { readonly type: 'transferPermit'; readonly id: number }
  | { readonly type: 'releasePermit'; readonly id: number; readonly succeeded: boolean }
  /** The complete list of the volumes that are mounted now, by name. */
  | { readonly type: 'volumesMounted'; readonly volumes: readonly string[] }
  /** For a terminating pod: the runtime has stopped every container. The task stops the sandboxes next. */
  | { readonly type: 'containersEnded' }
  /** A container could not be started. The result has it too, but other containers of the pod may delay the result by minutes. */
  | { readonly type: 'containerWaiting'; readonly container: string; readonly waiting: WaitingReason }
  /** The postStart hook of this container is unfinished from now on, or has ended. */
  | { readonly type: 'postStartHook'; readonly container: ContainerID; readonly unfinished: boolean }
  /** The resources of these containers, or of the pod, are in force now. */
  | { readonly type: 'actuated'; readonly actuated: ActuatedResources }
  | { readonly type: 'event'; readonly event: RecordedEvent }
  /** A phase of the pod's timeline has begun or ended. Waits for another message of the task, for a short time. */
  | { readonly type: 'phase'; readonly report: PhaseReport };

/** Main to task; no reply. */
export type PodSyncCommand =
  /** Stop at the next consistent point; the result is `stopped`. With `podEnds` the task does not wait for a sandbox that is being created, or for a resize. */
  { readonly type: 'stop'; readonly podEnds?: boolean } | { readonly type: 'shrinkGracePeriod'; readonly gracePeriodSeconds: number };
