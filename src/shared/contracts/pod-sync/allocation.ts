/** What was allocated to one pod alone, and goes into the configurations of its sandbox and containers. Main's allocation providers decide it. */
import type { MappedIDs } from '../runtime-status.ts';

export interface ExclusiveAllocation {
  /** Present for a pod with `hostUsers: false`. */
  readonly userNamespace?: UserNamespaceChoice;
  /** By name. */
  readonly containers?: ReadonlyMap<string, ContainerAllocation>;
}

/** The IDs of a pod's user namespace, or the reason why it has none. */
export type UserNamespaceChoice = MappedIDs | { readonly problem: string };

export interface ContainerAllocation {
  /** Requested by device plugins and drivers. */
  readonly devices?: readonly { readonly hostPath: string; readonly containerPath: string; readonly permissions: string }[];
  readonly cdiDeviceNames?: readonly string[];
  readonly annotations?: Readonly<Record<string, string>>;
  /** Exclusive CPUs, such as `0-3,7`. */
  readonly cpusetCpus?: string;
  /** NUMA nodes of the memory manager. */
  readonly cpusetMems?: string;
}
