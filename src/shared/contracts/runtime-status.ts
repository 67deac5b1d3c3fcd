/**
 * A pod as the runtime has it: made by the pleg thread (its only writer), kept by main, read by pure decisions (the actions that a
 * pod needs, its API status, what can be collected). Plain data: it is structured-cloned. Times are ms since the epoch with fractions;
 * 0 is "never".
 */
import type { Failure } from '../errors/kubelet-error.ts';
import type { ContainerID, PodUID, SandboxID } from '../kubernetes/ids.ts';

export interface RuntimePodStatus {
  readonly podUID: PodUID;
  readonly name: string;
  readonly namespace: string;
  /** Of the newest ready sandbox; for a hostNetwork pod the runtime knows none. */
  readonly podIPs: readonly string[];
  /** Newest first. */
  readonly sandboxes: readonly RuntimeSandboxStatus[];
  /** All of the pod's containers that the runtime still has, newest first. */
  readonly containers: readonly RuntimeContainerStatus[];
  /** Monotonic ms at which the look that made this began: all that happened before is in it. */
  readonly observedAtMs: number;
  /** Set when the runtime did not answer about part of this pod (a wedged container): what is above is then the last that was known. */
  readonly failure?: Failure;
}

/** What the reason of such a failure can be. Upstream's names: the event reason for a sandbox, and the reason of a status that nobody knows. */
export const failureReasons = { sandbox: 'FailedPodSandBoxStatus', container: 'ContainerStatusUnknown' } as const;

export function isFailureReason(reason: string | undefined): boolean {
  return reason === failureReasons.sandbox || reason === failureReasons.container;
}

/** Part of it is known from lists alone: the kubelet has just begun, or the runtime did not answer. */
export function isOnlyListed({ sandboxes, containers }: RuntimePodStatus): boolean {
  return sandboxes.some(({ listedOnly }) => listedOnly) || containers.some(({ listedOnly }) => listedOnly);
}

export interface RuntimeSandboxStatus {
  readonly id: SandboxID;
  readonly state: 'ready' | 'notReady';
  readonly attempt: number;
  readonly createdAtMs: number;
  readonly podIPs: readonly string[];
  readonly hostNetwork: boolean;
  readonly runtimeHandler: string;
  /** It has not been asked for yet: nothing is known of its network. */
  readonly listedOnly?: true;
}

export interface RuntimeContainerStatus {
  readonly id: ContainerID;
  readonly sandboxID: SandboxID;
  readonly name: string;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly createdAtMs: number;
  readonly startedAtMs: number;
  readonly finishedAtMs: number;
  readonly exitCode: number;
  /** As in the pod's spec. */
  readonly image: string;
  /** The image itself, where the runtime tells it (`sha256:…`); else as `imageRef`. */
  readonly imageID: string;
  /** What the API shows as its `imageID`, for reasons of history: with a digest of the repository where there is one. */
  readonly imageRef: string;
  /** Hex, from the container's annotation. */
  readonly hash: string;
  /** The attempt that this container is: 0 for the first. */
  readonly restartCount: number;
  /** The runtime's reason (`Completed`, `Error`, `OOMKilled`, …). */
  readonly reason: string;
  /** The runtime's message, or the termination message once it has exited. */
  readonly message: string;
  readonly logPath: string;
  readonly user?: { readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[] };
  readonly resources?: RuntimeContainerResources;
  readonly mounts: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly readonly: boolean;
    readonly recursiveReadOnly: boolean;
    /** The runtime's reference of the image that is mounted. */
    readonly image?: string;
  }[];
  /** What a kubelet that no longer has the pod's spec needs in order to end it properly; from the annotations. */
  readonly orphan: {
    readonly podTerminationGracePeriodSeconds?: number;
    readonly podDeletionGracePeriodSeconds?: number;
    /** JSON of the API's LifecycleHandler. */
    readonly preStopHandler?: string;
    /** JSON of the API's ContainerPort[]. */
    readonly ports?: string;
  };
  readonly stopSignal?: string;
  /** It has not been asked for yet: when it began, how it ended, its user, mounts and resources are not known. */
  readonly listedOnly?: true;
}

export interface RuntimeContainerResources {
  readonly cpuShares: number;
  readonly cpuQuota: number;
  readonly cpuPeriod: number;
  readonly memoryLimitBytes: number;
}
