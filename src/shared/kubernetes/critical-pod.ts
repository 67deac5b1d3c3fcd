import type { Pod } from './api.ts';
import { isMirrorPod, isStaticPod } from './static-pod.ts';

/** Upstream's scheduling.SystemCriticalPriority. */
const systemCriticalPriority = 2_000_000_000;

/** Static pods, mirror pods and pods with a system priority are critical (upstream: types.IsCriticalPod). */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= systemCriticalPriority;
}
