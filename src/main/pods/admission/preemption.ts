/**
 * Which pods must end so that a critical one has room: pure. Best-effort pods first, guaranteed ones last, and as few as do. Upstream:
 * pkg/kubelet/preemption.
 */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { qosClass, type QosClass } from '../../../shared/kubernetes/qos-class.ts';
import { isMirrorPod } from '../static/mirror-pod.ts';
import { isStaticPod } from '../static/static-pod.ts';
import { requestOf, type Shortage } from './resource-fit.ts';

/** Upstream's scheduling.SystemCriticalPriority. */
const systemCriticalPriority = 2_000_000_000;

interface Need {
  readonly resource: string;
  readonly amount: number;
}

/** Null: no set of pods is enough. */
export function podsToPreempt(pod: Pod, active: readonly Pod[], lacking: readonly Shortage[]): Pod[] | null {
  const needs = lacking.map(({ resource, requested, used, capacity }) => ({ resource, amount: requested - (capacity - used) }));
  const preemptable = active.filter((other) => mayPreempt(pod, other));
  const of = (qos: QosClass) => preemptable.filter((other) => qosClass(other) === qos);
  const [bestEffort, burstable, guaranteed] = [of('BestEffort'), of('Burstable'), of('Guaranteed')];
  if (without(needs, preemptable).length > 0) return null;
  const guaranteedVictims = nearest(guaranteed, without(needs, [...bestEffort, ...burstable]));
  const burstableVictims = nearest(burstable, without(needs, [...bestEffort, ...guaranteedVictims]));
  const bestEffortVictims = nearest(bestEffort, without(needs, [...burstableVictims, ...guaranteedVictims]));
  return [...bestEffortVictims, ...burstableVictims, ...guaranteedVictims];
}

/** Upstream: kubetypes.IsCriticalPod. */
export function isCriticalPod(pod: Pod): boolean {
  return isStaticPod(pod) || isMirrorPod(pod) || (pod.spec.priority ?? 0) >= systemCriticalPriority;
}

function mayPreempt(pod: Pod, other: Pod): boolean {
  if (isCriticalPod(pod) && !isCriticalPod(other)) return true;
  const [own, others] = [pod.spec.priority, other.spec.priority];
  return own !== undefined && others !== undefined && own > others;
}

/** Takes the pod that brings most of what is still needed, then the next. There are enough of them. */
function nearest(candidates: readonly Pod[], needs: readonly Need[]): Pod[] {
  const chosen: Pod[] = [];
  const left = new Set(candidates);
  for (let open = needs; open.length > 0 && left.size > 0;) {
    const best = [...left].reduce((a, b) => (compare(b, a, open) < 0 ? b : a));
    left.delete(best);
    chosen.push(best);
    open = without(open, [best]);
  }
  return chosen;
}

/** Of two that bring as much, the one that asks for less. */
function compare(a: Pod, b: Pod, needs: readonly Need[]): number {
  const byDistance = distance(a, needs) - distance(b, needs);
  if (byDistance !== 0) return byDistance;
  const byMemory = requestOf(a, 'memory') - requestOf(b, 'memory');
  return byMemory !== 0 ? byMemory : requestOf(a, 'cpu') - requestOf(b, 'cpu');
}

/** 0: it brings all; 1 for each resource of which it brings nothing. */
function distance(pod: Pod, needs: readonly Need[]): number {
  return needs.reduce((sum, { resource, amount }) => sum + (Math.max(0, amount - requestOf(pod, resource)) / amount) ** 2, 0);
}

function without(needs: readonly Need[], pods: readonly Pod[]): Need[] {
  return needs
    .map(({ resource, amount }) => ({ resource, amount: pods.reduce((left, pod) => left - requestOf(pod, resource), amount) }))
    .filter(({ amount }) => amount > 0);
}
