/**
 * The pods that main sends to the server thread. The pods API gets all pods once, and then those that change: the server thread requests the changes
 * again and again. The lists over HTTP get one portion per request.
 */
import type { PodUID } from '../../kubernetes/ids.ts';

export interface PodChanges {
  /** To be passed with the next request. */
  readonly cursor: number;
  /** True in the first reply of a new cursor: the receiver starts from nothing. */
  readonly isStart: boolean;
  /** False: the next reply, which comes at once, has more. */
  readonly isComplete: boolean;
  /** Whether every source has reported, and the pods that ran before have a status of this kubelet. */
  readonly sourcesReady: boolean;
  readonly pods: readonly PodState[];
  /** Pods that no source has any more. */
  readonly removed: readonly PodUID[];
}

export interface PodState {
  readonly uid: PodUID;
  readonly namespace: string;
  readonly name: string;
  /** The pod with its status. */
  readonly json: string;
  /** Whether this kubelet has computed the status. A pod without such a status is listed, but watchers are not notified of it. */
  readonly hasStatus: boolean;
  /** Nothing of the pod is left on the node. Watchers are notified of the pod's deletion; the pod is listed until its source drops it. */
  readonly isFinished: boolean;
}

/** The lists over HTTP: `/pods`, `/runningpods/` and `/allocatedPods`. */
export const podListNames = ['pods', 'runningPods', 'allocatedPods'] as const;
export type PodListName = (typeof podListNames)[number];

/** Items of a v1 PodList. */
export interface PodListItems {
  /** How many of the requested UIDs were handled, at least one. Some of them may have no item. */
  readonly taken: number;
  /** Items separated by commas, possibly none. */
  readonly json: Uint8Array;
}
