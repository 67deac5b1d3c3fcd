import type { Pod } from '../../shared/kubernetes/api.ts';

declare const allocated: unique symbol;

/**
 * A pod with the resources that were allocated to it: what syncs, cgroups, admission and eviction count. The pod as its source wants it, with resources
 * that may not have been allocated yet, is a `Pod`, and no `AllocatedPod`. The allocation manager makes one; elsewhere `asAllocated` says why the
 * spec is what was allocated.
 */
export type AllocatedPod = Pod & { readonly [allocated]: true };

/** Returns a pod to which nothing else was allocated than its spec asks for, or which never started. */
export function asAllocated(pod: Pod): AllocatedPod {
  return pod as AllocatedPod;
}
