/**
 * Whether a pod's requests fit into what the active pods leave of the node: pure. Upstream: the scheduler's NodeResourcesFit, as the
 * kubelet asks it.
 */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podRequests } from '../../../shared/kubernetes/pod-resources.ts';
import { milliValue, value } from '../../../shared/kubernetes/quantity.ts';
import { isExtendedResource } from '../../node/resource-names.ts';

export interface Shortage {
  readonly resource: string;
  /** CPU in thousandths. */
  readonly requested: number;
  readonly used: number;
  readonly capacity: number;
}

type Amounts = ReadonlyMap<string, number>;

/** Summed up once for each version of a pod: admission adds up all active pods for every pod that comes. */
const requestsOf = new WeakMap<Pod, Amounts>();

/** What there is too little of; empty: the pod fits. An extended resource that the node does not have is the cluster's affair. */
export function shortages(pod: Pod, active: readonly Pod[], allocatable: Readonly<Record<string, string>>): Shortage[] {
  const found: Shortage[] = [];
  const pods = value(allocatable['pods']);
  if (active.length + 1 > pods) found.push({ resource: 'pods', requested: 1, used: active.length, capacity: pods });
  for (const [resource, requested] of amounts(pod)) {
    const isKnown = Object.hasOwn(allocatable, resource);
    if (requested <= 0 || (isExtendedResource(resource) && !isKnown)) continue;
    const capacity = isKnown ? inUnits(resource, allocatable[resource]) : 0;
    const used = active.reduce((sum, other) => sum + requestOf(other, resource), 0);
    if (requested > capacity - used) found.push({ resource, requested, used, capacity });
  }
  return found;
}

export function requestOf(pod: Pod, resource: string): number {
  // What preemption asks for too: a pod counts as one.
  return resource === 'pods' ? 1 : (amounts(pod).get(resource) ?? 0);
}

function amounts(pod: Pod): Amounts {
  const known = requestsOf.get(pod);
  if (known) return known;
  const requests = Object.entries(podRequests(pod)).map(([resource, quantity]): [string, number] => [
    resource,
    inUnits(resource, quantity),
  ]);
  // In upstream's order; those that it keeps in a map come after, by name.
  const order = ['cpu', 'memory', 'ephemeral-storage'];
  const rank = (resource: string) => (order.includes(resource) ? order.indexOf(resource) : order.length);
  const sorted = new Map(requests.sort(([a], [b]) => rank(a) - rank(b) || (a < b ? -1 : 1)));
  requestsOf.set(pod, sorted);
  return sorted;
}

function inUnits(resource: string, quantity: Parameters<typeof value>[0]): number {
  return resource === 'cpu' ? milliValue(quantity) : value(quantity);
}
