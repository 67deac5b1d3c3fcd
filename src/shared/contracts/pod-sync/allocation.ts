/** The resources that were allocated to a pod, and those that are in force. Main decides the allocation; tasks of the sync pool bring it into force. */
import type { Pod, ResourceRequirements } from '../../kubernetes/api.ts';
import type { MappedIDs } from '../runtime-status.ts';

/** Exclusive resources of a pod, such as CPUs, devices and a user namespace. They go into the configurations of its sandbox and containers. */
export interface ExclusiveAllocation {
  /** Present for a pod with `hostUsers: false`. */
  readonly userNamespace?: UserNamespaceChoice;
  /** By container name. */
  readonly containers?: ReadonlyMap<string, ContainerAllocation>;
}

/** The IDs of a pod's user namespace, or the reason why it has none. */
export type UserNamespaceChoice = MappedIDs | { readonly problem: string };

export interface ContainerAllocation {
  /** Why the container did not get its exclusive resources. The container then does not start. */
  readonly problem?: string;
  /** Requested by device plugins and drivers. */
  readonly devices?: readonly { readonly hostPath: string; readonly containerPath: string; readonly permissions: string }[];
  readonly cdiDeviceNames?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** Exclusive CPUs, such as `0-3,7`. */
  readonly cpusetCpus?: string;
  /** NUMA nodes of the memory manager. */
  readonly cpusetMems?: string;
}

/** The values of a pod's cgroup that differ from its allocation: a resize is not finished, or another program has changed the cgroup. */
export interface PodCgroupDifference {
  /** Bytes; null: no limit. */
  readonly memoryLimit?: number | null;
  /** Thousandths of a CPU; null: no limit. */
  readonly cpuLimit?: number | null;
  /** On cgroup v2: the shares that correspond to the cgroup's weight. */
  readonly cpuShares?: number;
}

/**
 * A pod's resources exist in three states: requested (a plain `Pod`), allocated and actuated. This brand marks values of the latter two, so that the
 * compiler rejects one where another belongs.
 */
export declare const resourceTruth: unique symbol;

/** A pod with the resources that are in force. */
export type ActuatedPod = Pod & { readonly [resourceTruth]: 'actuated' };

/** The resources that are in force in a pod. */
export interface ActuatedResources {
  readonly [resourceTruth]?: 'actuated';
  /** By container. The limits of a container without limits are those of its pod. */
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  readonly podLevel?: ResourceRequirements;
  /** The size limits of emptyDir volumes in memory, by volume. */
  readonly emptyDirLimits?: ReadonlyMap<string, string>;
  /** Running containers for which no record says which memory request is in force. The runtime gets their requests again. */
  readonly unknownMemoryRequests?: ReadonlySet<string>;
}
