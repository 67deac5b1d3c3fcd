/** The input and the result of computePodActions. */
import type { ProbeVerdicts } from '../../../../shared/contracts/pod-sync/task.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../../shared/contracts/runtime-status.ts';
import type { ContainerID, SandboxID } from '../../../../shared/kubernetes/ids.ts';
import type { KeptContainer, ResizeActions, ResizeInput } from './resizes.ts';
import type { RestartGates } from '../../../../shared/kubernetes/restart-policy.ts';

/** Selects the grace period of the kill. Empty for a changed definition, and for a resize that needs a restart. */
export type KillReason = '' | 'LivenessProbe' | 'StartupProbe' | 'FailedPostStartHook' | 'RestartAllContainers' | 'Unknown';

export interface ContainerToKill {
  readonly id: ContainerID;
  readonly name: string;
  /** The message of the Killing event. */
  readonly message: string;
  readonly reason: KillReason;
}

export interface ContainerToReset {
  readonly id: ContainerID;
  readonly name: string;
  /** True when the container still runs and must be killed before its removal. */
  readonly kill: boolean;
  /** For a container that triggered the reset: the wall-clock ms of its exit. */
  readonly triggeredAtMs?: number;
}

/** Lists of names are in start order. */
export interface PodActions {
  /** Stop every container, then the sandboxes. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  /** The sandbox to start containers in; with `createSandbox`, the one to replace. */
  readonly sandboxID: SandboxID | undefined;
  /** The attempt number of the new sandbox, or of the existing one. */
  readonly attempt: number;
  readonly ephemeralContainersToStart: readonly string[];
  readonly initContainersToStart: readonly string[];
  readonly containersToStart: readonly string[];
  readonly containersToKill: readonly ContainerToKill[];
  /** In removal order: the containers that triggered the reset come last. */
  readonly containersToReset: readonly ContainerToReset[];
  /** Containers that keep running, and whose postStart hook was interrupted when the kubelet or the thread ended. */
  readonly hooksToRepeat: readonly KeptContainer[];
  /** Null: all allocated resources are in force. */
  readonly resize: ResizeActions | null;
}

/** The containers to start, and the sandbox to start them in. */
export type ContainersToStart = Pick<
  PodActions,
  'createSandbox' | 'sandboxID' | 'attempt' | 'ephemeralContainersToStart' | 'initContainersToStart' | 'containersToStart'
>;

export interface PodActionsInput extends RestartGates, ResizeInput {
  readonly status: RuntimePodStatus | null;
  /** Absent for a pod that is not probed: then nothing waits for a probe. */
  readonly probes?: ProbeVerdicts;
  /** Running containers whose postStart hook has not ended. Absent: none. */
  readonly unfinishedHooks?: readonly ContainerID[];
  /** The pod's condition AllContainersRestarting is true. */
  readonly restartAllContainers?: boolean;
}

/** Returns the newest instance of a container; the statuses are sorted newest first. */
export function findContainerStatus(status: RuntimePodStatus | null, name: string): RuntimeContainerStatus | undefined {
  return status?.containers.find((container) => container.name === name);
}

/** Returns the newest instance of a container in the newest sandbox. Upstream: FindActiveContainerStatusByName. */
export function findActiveContainerStatus(status: RuntimePodStatus | null, name: string): RuntimeContainerStatus | undefined {
  const sandboxID = status?.sandboxes[0]?.id;
  return status?.containers.find((container) => container.name === name && container.sandboxID === sandboxID);
}
