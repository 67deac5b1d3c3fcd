/** Tasks of the sync pool for cgroups that belong to no single pod: main computes their values (main/node-cgroups/). */
import type { CgroupName } from '../../cgroups/cgroup-names.ts';
import type { CgroupResources } from '../../cgroups/cgroup-values.ts';

export interface SyncCgroupsTask {
  readonly cgroups: readonly CgroupChange[];
}

export interface CgroupChange {
  /** Text: as configured, in the driver's form (`/system.slice`). */
  readonly cgroup: CgroupName | string;
  readonly resources: CgroupResources;
  /** True: a missing cgroup is created. False: it must exist. */
  readonly create: boolean;
  /**
   * When the kernel refuses a memory limit below the usage. True: the limit is set to the usage, which stops growth (upstream's retrySetMemoryReserve).
   * Otherwise it stays, the other values are set, and the change fails.
   */
  readonly memoryAtLeastUsage?: boolean;
}

export interface SyncCgroupsResult {
  /** For each change its error, or null. */
  readonly failures: readonly (string | null)[];
}

/** The UIDs of the pods that have a cgroup. */
export interface ListPodCgroupsResult {
  readonly podUIDs: readonly string[];
}
