/** What was allocated to a pod, and what of it is in force. Main decides the allocation; tasks of the sync pool bring it into force. */
import type { Pod, ResourceRequirements } from '../../kubernetes/api.ts';
import type { MappedIDs } from '../runtime-status.ts';

/** What the pod holds alone: it goes into the configurations of its sandbox and containers. */
export interface ExclusiveAllocation {
  /** Present for a pod with `hostUsers: false`. */
  readonly userNamespace?: UserNamespaceChoice;
  /** By name. */
  readonly containers?: ReadonlyMap<string, ContainerAllocation>;
}

/** The IDs of a pod's user namespace, or the reason why it has none. */
export type UserNamespaceChoice = MappedIDs | { readonly problem: string };

export interface ContainerAllocation {
  /** Why the container does not have what it needs: it does not start. */
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

/** The values of a pod's cgroup that are not those of what was allocated, since a resize is not finished, or somebody else has changed them. */
export interface PodCgroupDifference {
  /** Bytes; null: no limit. */
  readonly memoryLimit?: number | null;
  /** Thousandths of a CPU; null: no limit. */
  readonly cpuLimit?: number | null;
  /** With v2 those that its weight stands for. */
  readonly cpuShares?: number;
}

/** Which of the three truths about a pod's resources something is: no value of one passes for another. What a pod asks for is a `Pod`. */
export declare const resourceTruth: unique symbol;

/** A pod with the resources that are in force. */
export type ActuatedPod = Pod & { readonly [resourceTruth]: 'actuated' };

/** The resources that are in force in a pod. */
export interface ActuatedResources {
  readonly [resourceTruth]?: 'actuated';
  /** By container. The limits of a container without limits are those of its pod. */
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  readonly podLevel?: ResourceRequirements;
  /** The size limits of volumes in memory, by volume. */
  readonly emptyDirLimits?: ReadonlyMap<string, string>;
  /** Running containers of whose memory request nothing tells what is in force: the runtime gets it again. */
  readonly unknownMemoryRequests?: ReadonlySet<string>;
}
