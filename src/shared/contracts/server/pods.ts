/**
 * The pods that main sends to the server thread: for the pods API all pods once, then those that change (the server thread asks again and again); for the lists over
 * HTTP a portion at each request.
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
  /** Whether the status is this kubelet's. Without one the pod is listed, and watchers are not notified. */
  readonly hasStatus: boolean;
  /** Nothing of the pod is left on the node. Watchers are notified of its deletion; it is listed until its source drops it. */
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
