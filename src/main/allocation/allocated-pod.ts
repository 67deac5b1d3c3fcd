import type { resourceTruth } from '../../shared/contracts/pod-sync/allocation.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';

/**
 * A pod whose spec has the resources that were allocated to the pod: syncs, cgroups, admission and eviction count these. The type keeps three views of a
 * pod apart: a `Pod` has the resources that its source wants, which may not be allocated yet; an `ActuatedPod` has those that are in force. The
 * allocation manager creates allocated pods; other code uses `asAllocated` where nothing else can be allocated.
 */
export type AllocatedPod = Pod & { readonly [resourceTruth]: 'allocated' };

/** Only for a pod whose allocated resources are those of its spec, or that never started. */
export function asAllocated(pod: Pod): AllocatedPod {
  return pod as AllocatedPod;
}
