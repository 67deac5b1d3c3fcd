/**
 * Selects the pods that are preempted for a critical pod: best-effort pods first, guaranteed pods last, and as few as possible. Pure.
 * Upstream: pkg/kubelet/preemption.
 */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { AllocatedPod } from '../../allocation/index.ts';
import { isCriticalPod } from '../../../shared/kubernetes/critical-pod.ts';
import { qosClass, type QosClass } from '../../../shared/kubernetes/qos-class.ts';
import { requestOf, type InsufficientResource } from './resource-fit.ts';

/** Upstream: admissionRequirement. */
export interface MissingResource {
  readonly resource: string;
  readonly amount: number;
}

/** The pods to end; or what would still be missing if all candidates ended: then no pod is ended. */
export type PreemptionChoice = { readonly victims: readonly Pod[] } | { readonly unmet: readonly MissingResource[] };

export function podsToPreempt(pod: Pod, active: readonly AllocatedPod[], insufficient: readonly InsufficientResource[]): PreemptionChoice {
  const requirements = insufficient.map(({ resource, requested, used, capacity }) => ({ resource, amount: requested - (capacity - used) }));
  const preemptable = active.filter((other) => canPreempt(pod, other));
  const podsOfClass = (qos: QosClass) => preemptable.filter((other) => qosClass(other) === qos);
  const [bestEffort, burstable, guaranteed] = [podsOfClass('BestEffort'), podsOfClass('Burstable'), podsOfClass('Guaranteed')];
  const unmet = subtract(requirements, preemptable);
  if (unmet.length > 0) return { unmet };
  // As upstream: a class frees what is missing when all pods of lower classes and the victims of higher classes have ended.
  const guaranteedVictims = podsByDistance(guaranteed, subtract(requirements, [...bestEffort, ...burstable]));
  const burstableVictims = podsByDistance(burstable, subtract(requirements, [...bestEffort, ...guaranteedVictims]));
  const bestEffortVictims = podsByDistance(bestEffort, subtract(requirements, [...burstableVictims, ...guaranteedVictims]));
  return { victims: [...bestEffortVictims, ...burstableVictims, ...guaranteedVictims] };
}

function canPreempt(pod: Pod, other: Pod): boolean {
  if (isCriticalPod(pod) && !isCriticalPod(other)) return true;
  const [priority, otherPriority] = [pod.spec.priority, other.spec.priority];
  return priority !== undefined && otherPriority !== undefined && priority > otherPriority;
}

/** Selects the pods with the smallest distance until the requirements are met. Upstream: getPodsToPreemptByDistance. */
function podsByDistance(candidates: readonly Pod[], requirements: readonly MissingResource[]): Pod[] {
  const selected: Pod[] = [];
  const remaining = new Set(candidates);
  for (let unmet = requirements; unmet.length > 0 && remaining.size > 0;) {
    const best = [...remaining].reduce((a, b) => (compare(b, a, unmet) < 0 ? b : a));
    remaining.delete(best);
    selected.push(best);
    unmet = subtract(unmet, [best]);
  }
  return selected;
}

/** Orders by distance, then by smaller memory request, smaller CPU request, and lower priority. */
function compare(a: Pod, b: Pod, requirements: readonly MissingResource[]): number {
  const byDistance = distance(a, requirements) - distance(b, requirements);
  if (byDistance !== 0) return byDistance;
  const byMemory = requestOf(a, 'memory') - requestOf(b, 'memory');
  if (byMemory !== 0) return byMemory;
  const byCpu = requestOf(a, 'cpu') - requestOf(b, 'cpu');
  return byCpu !== 0 ? byCpu : (a.spec.priority ?? 0) - (b.spec.priority ?? 0);
}

/** Adds up, for each required resource, the square of the share that the pod does not free: 0 when it frees enough, 1 when it frees nothing. */
function distance(pod: Pod, requirements: readonly MissingResource[]): number {
  return requirements.reduce((sum, { resource, amount }) => sum + (Math.max(0, amount - requestOf(pod, resource)) / amount) ** 2, 0);
}

/** The requirements that remain when these pods are preempted. */
function subtract(requirements: readonly MissingResource[], pods: readonly Pod[]): MissingResource[] {
  return requirements
    .map(({ resource, amount }) => ({ resource, amount: pods.reduce((left, pod) => left - requestOf(pod, resource), amount) }))
    .filter(({ amount }) => amount > 0);
}
