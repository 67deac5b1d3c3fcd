import type { Pod } from './api.ts';
import { isMirrorPod, isStaticPod } from './static-pod.ts';

/** Upstream's scheduling.SystemCriticalPriority: the lowest priority of critical pods. */
export const systemCriticalPriority = 2_000_000_000;
/** Upstream's scheduling.SystemNodeCritical, and the priority of that class, the highest one. */
export const nodeCriticalClass = 'system-node-critical';
export const nodeCriticalPriority = systemCriticalPriority + 1000;

/** Static pods, mirror pods and pods with a system priority are critical (upstream: types.IsCriticalPod). */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= systemCriticalPriority;
}

/** Upstream: types.IsNodeCriticalPod. */
export function isNodeCriticalPod(pod: Pod): boolean {
  return isCriticalPod(pod) && pod.spec.priorityClassName === nodeCriticalClass;
}
