/** What a pod needs done, and what decides it. */
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { ContainerID, SandboxID } from '../../../shared/kubernetes/ids.ts';

/** Why a container is killed: decides its grace period. '' is a changed definition. */
export type KillReason = '' | 'LivenessProbe' | 'StartupProbe' | 'FailedPostStartHook' | 'RestartAllContainers' | 'Unknown';

export interface ContainerToKill {
  readonly id: ContainerID;
  readonly name: string;
  /** Becomes the Killing event. */
  readonly message: string;
  readonly reason: KillReason;
}

export interface ContainerToReset {
  readonly id: ContainerID;
  readonly name: string;
  /** It still runs: kill it before it is removed. */
  readonly kill: boolean;
}

/** Containers are named, in the order in which they are started. */
export interface PodActions {
  /** Stop every container, then the sandboxes. */
  readonly killPod: boolean;
  readonly createSandbox: boolean;
  /** The sandbox to start containers in, or the one before the new. */
  readonly sandboxID: SandboxID | undefined;
  /** Of the sandbox to make, or of the one that is there. */
  readonly attempt: number;
  readonly ephemeralContainersToStart: readonly string[];
  readonly initContainersToStart: readonly string[];
  readonly containersToStart: readonly string[];
  readonly containersToKill: readonly ContainerToKill[];
  /** In order: those that triggered the restart of all come last. */
  readonly containersToReset: readonly ContainerToReset[];
}

export type ProbeVerdict = 'success' | 'failure' | 'unknown';

/**
 * Verdicts by container. A probed container that is absent was not probed yet. Where the whole is not given, the node runs
 * no probes, and nothing waits for one.
 */
export interface ProbeVerdicts {
  readonly startup: ReadonlyMap<ContainerID, ProbeVerdict>;
  readonly liveness: ReadonlyMap<ContainerID, ProbeVerdict>;
}

export interface PodActionsInput {
  readonly pod: Pod;
  readonly status: RuntimePodStatus | null;
  readonly probes?: ProbeVerdicts;
  /** The pod's condition AllContainersRestarting is true. */
  readonly restartAllContainers?: boolean;
  /** Gate ContainerRestartRules: containers' own restart policies and rules count. */
  readonly containerRestartRules: boolean;
}

/** The newest instance of a container. Statuses are newest first. */
export function findContainerStatus(status: RuntimePodStatus | null, name: string): RuntimeContainerStatus | undefined {
  return status?.containers.find((container) => container.name === name);
}
