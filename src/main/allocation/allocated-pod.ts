import type { resourceTruth } from '../../shared/contracts/pod-sync/allocation.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';

/**
 * A pod with the resources that were allocated to it: what syncs, cgroups, admission and eviction count. The pod as its source wants it, with resources
 * that may not have been allocated yet, is a `Pod`, and no `AllocatedPod`; nor is one with what is in force, an `ActuatedPod`. The allocation manager makes one; elsewhere `asAllocated` says why the
 * spec is what was allocated.
 */
export type AllocatedPod = Pod & { readonly [resourceTruth]: 'allocated' };

/** Returns a pod to which nothing else was allocated than its spec asks for, or which never started. */
export function asAllocated(pod: Pod): AllocatedPod {
  return pod as AllocatedPod;
}
