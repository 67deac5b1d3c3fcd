/** Computes what a pod requests of a resource. Pure. Upstream: GetResourceRequestQuantity in pkg/api/v1/resource. */
import type { AllocatedPod } from '../allocation/index.ts';
import { hasPodLevelResources, isPodLevelResource, podRequests } from '../../shared/kubernetes/pod-resources.ts';
import { addQuantities, isZeroQuantity, toQuantity, zeroQuantity, type Quantity } from '../../shared/kubernetes/quantity.ts';

/** A pod with pod-level resources requests nothing else: its containers' requests do not count, for any resource. Overhead adds to a request only. */
export function podRequest(pod: AllocatedPod, resource: string): Quantity {
  const request = hasPodLevelResources(pod.spec)
    ? podLevelRequest(pod, resource)
    : (podRequests(pod, { excludeOverhead: true })[resource] ?? zeroQuantity);
  return isZeroQuantity(request) ? request : addQuantities(request, entry(pod.spec.overhead, resource));
}

function podLevelRequest(pod: AllocatedPod, resource: string): Quantity {
  return isPodLevelResource(resource) ? toQuantity(entry(pod.spec.resources?.requests, resource)) : zeroQuantity;
}

function entry(list: Readonly<Record<string, string>> | undefined, name: string): string | undefined {
  return list && Object.hasOwn(list, name) ? list[name] : undefined;
}
