/** The pleg thread: the only one that lists the runtime, and the pod cache's only writer. */
import type { MessagePort } from 'node:worker_threads';
import type { ContainerID, PodUID } from '../kubernetes/ids.ts';
import type { RuntimeHandler } from './node-info.ts';
import type { CreatedObjects } from './pod-sync/result.ts';
import type { RuntimePodStatus } from './runtime-status.ts';
import type { ThreadWorkerData } from './thread.ts';

export interface PlegWorkerData extends ThreadWorkerData {
  readonly runtimeEndpoint: string;
  /** 1 s upstream (genericPlegRelistPeriod). */
  readonly relistPeriodMs: number;
  /** Deadline of one CRI call (runtimeRequestTimeout). */
  readonly runtimeRequestTimeoutMs: number;
  /** Use GetContainerEvents where the runtime has it. */
  readonly useEventStream: boolean;
  /** With podLogsDir, where containers' termination messages are. */
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** The runtime snapshot (shared/state/runtime-snapshot.ts): one writer, this thread. */
  readonly snapshot: SharedArrayBuffer;
  /** PlegMessage: one message per relist, look or runtime event that saw a change. */
  readonly events: MessagePort;
}

/** Served over Comlink. */
export interface PlegApi {
  /**
   * Looks at one pod now and answers with what it saw, begun after this call: never an older look that was already under way.
   * Null when the runtime has nothing of the pod. Rejects with the runtime's error. Posts what changed as well.
   * @param created what a task has just created of the pod: it is asked about by its IDs, and the pod is not listed
   * @param sequence identifies this request among those for the pod: what is posted of the pod until the answer carries the number
   */
  inspectPod(podUID: PodUID, created?: CreatedObjects, sequence?: number): Promise<RuntimePodStatus | null>;
  /** Relists now; resolves when its events are posted. */
  relist(): Promise<void>;
  /** Asks the runtime for its version, its conditions and its cgroup driver. Rejects with the runtime's error: main asks again. */
  runtimeStatus(): Promise<RuntimeInfo>;
  close(): Promise<void>;
}

/** What main must know of the runtime itself: Version, Status and RuntimeConfig in one answer. */
export interface RuntimeInfo {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly runtimeApiVersion: string;
  /** `RuntimeReady`, `NetworkReady` and whatever else the runtime reports; the status is true for "good". */
  readonly conditions: readonly { readonly type: string; readonly status: boolean; readonly reason: string; readonly message: string }[];
  readonly handlers: readonly RuntimeHandler[];
  /** Absent where the runtime does not tell them (containerd before 2.0). */
  readonly features?: { readonly supplementalGroupsPolicy: boolean; readonly userNamespacesHostNetwork: boolean };
  /** Null where the runtime does not answer RuntimeConfig (containerd before 2.0): the configuration's own driver holds. */
  readonly cgroupDriver: 'cgroupfs' | 'systemd' | null;
}

export type PodLifecycleEvent =
  | { readonly type: 'ContainerStarted'; readonly podUID: PodUID; readonly containerID: ContainerID }
  /** An exit code of −1: nobody could ask how it ended (it is gone already, or it is a sandbox: those have events as containers do). */
  | { readonly type: 'ContainerDied'; readonly podUID: PodUID; readonly containerID: ContainerID; readonly exitCode: number }
  | { readonly type: 'ContainerRemoved'; readonly podUID: PodUID; readonly containerID: ContainerID }
  | { readonly type: 'ContainerChanged'; readonly podUID: PodUID; readonly containerID: ContainerID }
  | { readonly type: 'PodSync'; readonly podUID: PodUID };

/** A request for an inspection, by the number that main gave it. */
export interface InspectionRequest {
  readonly podUID: PodUID;
  readonly sequence: number;
}

/** Statuses come before the events that they explain, in one message. */
export interface PlegNotification {
  /**
   * Monotonic ms: a relist that began then is complete in main's cache with this message. Absent for single looks. The first
   * relist of a thread always posts a message, even when the runtime has nothing: main starts no pod before it came.
   */
  readonly relistedAtMs?: number;
  /** With `relistedAtMs`: of these pods main's cache is not complete, starts of theirs are looked at later. */
  readonly uninspected?: readonly PodUID[];
  readonly statuses: readonly RuntimePodStatus[];
  /** The runtime has nothing left of these; also told of pods that went while the thread was dead, by its successor's first relist. */
  readonly gone: readonly PodUID[];
  readonly events: readonly PodLifecycleEvent[];
  /**
   * The numbered request of main that was pending for this pod when the notification was posted. Requests share inspections: the
   * inspection behind this notification may have begun before the request.
   */
  readonly inspection?: InspectionRequest;
}
