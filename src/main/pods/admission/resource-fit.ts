/**
 * Decides whether a pod's requests fit into the resources that the active pods leave on the node. Pure. Upstream: the scheduler's
 * NodeResourcesFit plugin, as the kubelet calls it.
 */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { AllocatedPod } from '../../allocation/index.ts';
import { podRequests } from '../../../shared/kubernetes/pod-resources.ts';
import { milliValue, value } from '../../../shared/kubernetes/quantity.ts';
import { isExtendedResource } from '../../node/index.ts';

/** Upstream: InsufficientResource of noderesources. */
export interface InsufficientResource {
  readonly resource: string;
  /** This and the following amounts are whole units; for CPU, thousandths of a core. */
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

type Amounts = ReadonlyMap<string, number>;

/** Caches the requests per version of a pod, because each admission sums up all active pods. */
const requestsOf = new WeakMap<Pod, Amounts>();

/** Returns an empty list when the pod fits. Ignores extended resources that the node does not have: something else in the cluster manages them. */
export function insufficientResources(
  pod: Pod,
  active: readonly AllocatedPod[],
  allocatable: Readonly<Record<string, string>>,
): InsufficientResource[] {
  const insufficient: InsufficientResource[] = [];
  const maxPods = value(allocatable['pods']);
  if (active.length + 1 > maxPods) insufficient.push({ resource: 'pods', requested: 1, used: active.length, capacity: maxPods });
  for (const [resource, requested] of amounts(pod)) {
    const isKnown = Object.hasOwn(allocatable, resource);
    if (requested <= 0 || (isExtendedResource(resource) && !isKnown)) continue;
    const capacity = isKnown ? inUnits(resource, allocatable[resource]) : 0;
    const used = active.reduce((sum, other) => sum + requestOf(other, resource), 0);
    if (requested > capacity - used) insufficient.push({ resource, requested, used, capacity });
  }
  return insufficient;
}

export function requestOf(pod: Pod, resource: string): number {
  // Preemption also requires `pods`, of which each pod uses one.
  return resource === 'pods' ? 1 : (amounts(pod).get(resource) ?? 0);
}

function amounts(pod: Pod): Amounts {
  const cached = requestsOf.get(pod);
  if (cached) return cached;
  const requests = Object.entries(podRequests(pod)).map(([resource, quantity]): [string, number] => [
    resource,
    inUnits(resource, quantity),
  ]);
  // Upstream's order. Resources that upstream keeps in a map follow, sorted by name.
  const order = ['cpu', 'memory', 'ephemeral-storage'];
  const rank = (resource: string) => (order.includes(resource) ? order.indexOf(resource) : order.length);
  const sorted = new Map(requests.sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1)));
  requestsOf.set(pod, sorted);
  return sorted;
}

function inUnits(resource: string, quantity: Parameters<typeof value>[0]): number {
  return resource === 'cpu' ? milliValue(quantity) : value(quantity);
}
