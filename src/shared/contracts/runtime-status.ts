/**
 * The status of a pod in the runtime. The pleg thread creates it and main stores it; pure functions decide by it (the actions that a pod needs, its API
 * status, garbage collection). Plain data, for the structured clone. Times are ms since the epoch, with fractions; 0 means never.
 */
import type { Failure } from '../errors/kubelet-error.ts';
import type { ContainerID, PodUID, SandboxID } from '../kubernetes/ids.ts';

export interface RuntimePodStatus {
  readonly podUID: PodUID;
  readonly name: string;
  readonly namespace: string;
  /** The IPs of the newest ready sandbox. Empty for a hostNetwork pod. */
  readonly podIPs: readonly string[];
  /** Newest first. */
  readonly sandboxes: readonly RuntimeSandboxStatus[];
  /** All containers of the pod that the runtime still has; the instances of one container are newest first. */
  readonly containers: readonly RuntimeContainerStatus[];
  /** Monotonic ms at which the inspection began: the status includes everything that happened before. */
  readonly observedAtMs: number;
  /** Set when the runtime did not return the status of a part of the pod (a stuck container). That part is then the last known status. */
  readonly failure?: Failure;
}

/** The reasons of `RuntimePodStatus.failure`. Upstream's names: an event reason for the sandbox, and the reason of an unknown container status. */
export const failureReasons = { sandbox: 'FailedPodSandBoxStatus', container: 'ContainerStatusUnknown' } as const;

export function isFailureReason(reason: string | undefined): boolean {
  return reason === failureReasons.sandbox || reason === failureReasons.container;
}

/** True if a part of the status comes from the runtime's lists alone: the kubelet has just started, or the runtime did not reply. */
export function isOnlyListed({ sandboxes, containers }: RuntimePodStatus): boolean {
  return sandboxes.some(({ listedOnly }) => listedOnly) || containers.some(({ listedOnly }) => listedOnly);
}

/** The IDs of a user namespace: ID n in the pod, from 0 to `length` − 1, is ID `hostID` + n on the host, for users and for groups. */
export interface MappedIDs {
  readonly hostID: number;
  readonly length: number;
}

export interface RuntimeSandboxStatus {
  readonly id: SandboxID;
  readonly state: 'ready' | 'notReady';
  readonly attempt: number;
  readonly createdAtMs: number;
  readonly podIPs: readonly string[];
  readonly hostNetwork: boolean;
  readonly runtimeHandler: string;
  /** Absent when the sandbox has the host's users, or the runtime does not say. */
  readonly userNamespace?: MappedIDs;
  /** The pod comes from a file or from a URL. */
  readonly isStatic?: true;
  /** The sandbox's own status has not been read yet: its network and its user namespace are unknown. */
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
  /** The image in the pod's spec. */
  readonly image: string;
  /** The image's ID (`sha256:…`) if the runtime reports it, else `imageRef`. */
  readonly imageID: string;
  /** The API shows this as `imageID`, for historical reasons. It has the repository's digest if there is one. */
  readonly imageRef: string;
  /** Hexadecimal hash of the spec, from the container's annotation. */
  readonly hash: string;
  /** 0 for the first container of this name. */
  readonly restartCount: number;
  /** The back-off after this container's exit, from its annotation. `key`: see ContainerBackoff. */
  readonly restartBackOff?: { readonly key: string; readonly backoffMs: number };
  /** The runtime's reason (`Completed`, `Error`, `OOMKilled`, …). */
  readonly reason: string;
  /** The runtime's message; the termination message once the container has exited. */
  readonly message: string;
  readonly logPath: string;
  readonly user?: { readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[] };
  readonly resources?: RuntimeContainerResources;
  readonly mounts: readonly {
    readonly containerPath: string;
    readonly hostPath: string;
    readonly readonly: boolean;
    readonly recursiveReadOnly: boolean;
    /** The runtime's reference of the mounted image. */
    readonly image?: string;
  }[];
  /** From the annotations: what a kubelet without the pod's spec needs to terminate the container. */
  readonly orphan: {
    readonly podTerminationGracePeriodSeconds?: number;
    readonly podDeletionGracePeriodSeconds?: number;
    /** JSON of the API's LifecycleHandler. */
    readonly preStopHandler?: string;
    /** JSON of the API's ContainerPort[]. */
    readonly ports?: string;
  };
  readonly stopSignal?: string;
  /** The container's own status has not been read yet: its start, exit, user, mounts and resources are unknown. */
  readonly listedOnly?: true;
}

export interface RuntimeContainerResources {
  readonly cpuShares: number;
  readonly cpuQuota: number;
  readonly cpuPeriod: number;
  readonly memoryLimitBytes: number;
}
