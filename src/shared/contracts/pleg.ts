/** The pleg thread (pod lifecycle event generator): lists the pods of the runtime for main, and is the only writer of the runtime snapshot. */
import type { ContainerID, PodUID } from '../kubernetes/ids.ts';
import type { RuntimeHandler } from './node-info.ts';
import type { CreatedObjects } from './pod-sync/result.ts';
import type { RuntimePodStatus } from './runtime-status.ts';
import type { ThreadWorkerData } from './thread-worker-data.ts';

export interface PlegWorkerData extends ThreadWorkerData {
  readonly runtimeEndpoint: string;
  /** 1 s in upstream (genericPlegRelistPeriod). */
  readonly relistPeriodMs: number;
  /** The deadline of one CRI call (runtimeRequestTimeout). */
  readonly runtimeRequestTimeoutMs: number;
  /** Use GetContainerEvents if the runtime supports it. */
  readonly useEventStream: boolean;
  /** The thread reads the containers' termination messages below rootDir and podLogsDir. */
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** The runtime snapshot (shared/state/runtime-snapshot.ts). This thread is its only writer. */
  readonly snapshot: SharedArrayBuffer;
}

/** Served over Comlink. The thread posts its notifications on the port of the answers, so both arrive in one order. */
export interface PlegApi {
  /**
   * Inspects one pod. The inspection begins after this call: the result is never that of an inspection already under way. The result is a
   * notification, also without a change; the answer follows it, so the result is in main's cache when the call resolves. Rejects with the runtime's error.
   * @param created the objects that a task has just created: the thread asks for them by ID, and does not list the pod
   */
  inspectPod(podUID: PodUID, created?: CreatedObjects): Promise<void>;
  /** Relists immediately. Resolves when the notification is posted. */
  relist(): Promise<void>;
  /** Reads the runtime's version, conditions and cgroup driver. Rejects with the runtime's error; main retries. */
  runtimeInfo(): Promise<RuntimeInfo>;
  close(): Promise<void>;
}

/** The runtime's replies to Version, Status and RuntimeConfig. */
export interface RuntimeInfo {
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly runtimeApiVersion: string;
  /** `RuntimeReady`, `NetworkReady` and any others that the runtime reports. `status` is true when the condition is met. */
  readonly conditions: readonly { readonly type: string; readonly status: boolean; readonly reason: string; readonly message: string }[];
  readonly handlers: readonly RuntimeHandler[];
  /** Absent if the runtime does not report its features (containerd before 2.0). */
  readonly features?: {
    readonly supplementalGroupsPolicy: boolean;
    readonly userNamespacesHostNetwork: boolean;
    readonly mountOptions: boolean;
  };
  /** Null if the runtime does not support RuntimeConfig (containerd before 2.0): the configured driver is used. */
  readonly cgroupDriver: 'cgroupfs' | 'systemd' | null;
}

export type PodLifecycleEvent =
  | { readonly type: 'ContainerStarted'; readonly podUID: PodUID; readonly containerID: ContainerID }
  /** The exit code is −1 if unknown: the container is gone already, or it is a sandbox (sandboxes have the same events). */
  | { readonly type: 'ContainerDied'; readonly podUID: PodUID; readonly containerID: ContainerID; readonly exitCode: number }
  | { readonly type: 'ContainerRemoved'; readonly podUID: PodUID; readonly containerID: ContainerID }
  | { readonly type: 'ContainerChanged'; readonly podUID: PodUID; readonly containerID: ContainerID }
  | { readonly type: 'PodSync'; readonly podUID: PodUID };

/** One message per relist, and per inspection that found a change or that main has requested. A message has the statuses that its events refer to. */
export interface PlegNotification {
  /**
   * Monotonic ms at which the relist of this message began: with this message main's cache has the state of that time. Absent for an inspection of
   * a single pod. The first relist of a thread always posts a message, also without changes: main starts no pod before.
   */
  readonly relistedAtMs?: number;
  /** With `relistedAtMs`: the pods whose state in main's cache is not complete yet, because containers that started are inspected later. */
  readonly uninspected?: readonly PodUID[];
  readonly statuses: readonly RuntimePodStatus[];
  /** The pods of which the runtime has nothing left. The first relist of a restarted thread includes pods that disappeared before the restart. */
  readonly removed: readonly PodUID[];
  readonly events: readonly PodLifecycleEvent[];
  /** Main has requested the inspection, and it found what the thread has posted before: only the time of the observation is new. */
  readonly unchanged?: true;
}
