/** Which containers get swap. Pure. Upstream: pkg/kubelet/types/constants.go, GetContainerSwapBehavior in pkg/kubelet/kuberuntime. */
import type { Pod, ResourceRequirements } from './api.ts';
import { isCriticalPod } from './critical-pod.ts';
import { qosClass } from './qos-class.ts';
import { compareQuantities } from './quantity.ts';

/** Values of the configuration's memorySwap.swapBehavior. An empty one is NoSwap. */
export const swapBehaviors: readonly string[] = ['', 'LimitedSwap', 'NoSwap'];

/** Whether the node gives a share of its swap to some containers, which `getsSwap` selects. */
export function isSwapLimited(swapBehavior: string): boolean {
  return swapBehavior === 'LimitedSwap';
}

/**
 * Whether a container of the pod gets swap under LimitedSwap: the pod is Burstable and not critical, and the container's memory request differs from
 * its limit.
 */
export function getsSwap(pod: Pod, { requests, limits }: ResourceRequirements = {}): boolean {
  if (isCriticalPod(pod) || qosClass(pod) !== 'Burstable') return false;
  return compareQuantities(requests?.['memory'], limits?.['memory']) !== 0;
}
