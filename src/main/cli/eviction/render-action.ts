/** Renders what would happen now, as sentences. Pure. */
import type { EvictionPlan, NodeReclaim } from '../../../shared/contracts/eviction.ts';
import { printable } from '../printable.ts';
import { podLabel } from './pod-label.ts';
import { wrapText } from './wrap-text.ts';

const reclaimed: Readonly<Record<NodeReclaim, string>> = {
  deadContainers: 'dead containers',
  unusedImages: 'unused images',
};

export function renderAction(plan: EvictionPlan): string[] {
  return [...sentences(plan), ...inProgress(plan), ...ofVictim(plan)].flatMap((text) => wrapText(text));
}

function sentences({ action, thresholds, localStorageViolations, ranking }: EvictionPlan): string[] {
  const evicted = new Set(ranking.pods.filter(({ isEvicted }) => isEvicted).map(({ uid }) => uid));
  const violating = localStorageViolations.filter(({ uid, notEvictableBecause }) => notEvictableBecause === null && !evicted.has(uid));
  if (violating.length > 0) {
    return [`The next pass evicts the ${plural(violating.length, 'pod')} over a limit of local storage, and does nothing else.`];
  }
  if (action === null) {
    const waiting = thresholds.some(({ met }) => met);
    const why = waiting ? 'No threshold is met for longer than its grace period' : 'No threshold is met';
    return [`${why}: nothing would be evicted. This is the order if ${ranking.signal} ran out.`];
  }
  const { signal, threshold, nodeReclaim, victim } = action;
  const steps = nodeReclaim.map((step) => reclaimed[step]).join(' and ');
  const isShortened = victim !== null && evicted.has(victim);
  const shortened = 'a pod that was evicted would get a shorter grace period';
  const eviction = victim === null ? 'no pod can be evicted' : isShortened ? shortened : 'one pod would be evicted';
  return [
    `The threshold ${printable(threshold)} of ${signal} is met. ` +
      (steps === ''
        ? `${capitalize(eviction)} ${evicted.size > 0 && !isShortened ? 'next' : 'now'}.`
        : `First, ${steps} would be removed. If that frees too little, ${eviction}.`),
    ...(ranking.signal === signal ? [] : [`The order below is the one for ${ranking.signal}.`]),
  ];
}

/** Reports reclaims and evictions in progress, which delay the next ones. */
function inProgress({ isReclaiming, ranking }: EvictionPlan): string[] {
  const ending = ranking.pods.filter(({ isEvicted }) => isEvicted);
  return [
    ...(isReclaiming ? ['Unused images and dead containers are being removed.'] : []),
    ...(ending.length > 0
      ? [`Evicted, and not finished yet: ${ending.map(podLabel).join(', ')}. Others wait for that, up to their deadline.`]
      : []),
  ];
}

/** Says how long the pod to evict would have to end, and with which message. */
function ofVictim({ action, ranking }: EvictionPlan): string[] {
  const victim = ranking.pods.find(({ uid }) => uid === action?.victim);
  if (!victim) return [];
  const { gracePeriodSeconds, message } = victim;
  const grace = gracePeriodSeconds === 0 ? 'is killed at once' : `has ${gracePeriodSeconds} s to end`;
  return [`${podLabel(victim)} ${grace}, with the message: ${printable(message)}`];
}

function plural(count: number, noun: string): string {
  return count === 1 ? noun : `${count} ${noun}s`;
}

function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
