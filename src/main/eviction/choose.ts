/** Chooses the threshold for which a pod is evicted, and the pod. A pass and its dry run decide with these functions. Pure. */
import type { AllocatedPod } from '../allocation/index.ts';
import type { EvictionCause } from './evictions.ts';
import { nodeReclaimSteps } from './node-reclaim.ts';
import { isHard, type FilesystemLayout, type Threshold } from './thresholds.ts';

/** What earlier passes have begun. */
export interface Ongoing {
  /** Whether a pod that was evicted for this cause has not finished, and is not overdue. */
  readonly isBusy: (cause: EvictionCause) => boolean;
  /** Whether the pod is not critical and is not being evicted yet. A hard eviction may follow a soft one, because its grace period is shorter. */
  readonly canEvict: (pod: AllocatedPod, cause: EvictionCause) => boolean;
  /** Node-level reclaim runs. */
  readonly isReclaiming: boolean;
}

/**
 * Returns the first threshold for which something can be done now. Every threshold waits for hard evictions, a soft threshold also for soft evictions, and
 * one whose resource node-level reclaim may free waits for the reclaim in progress.
 */
export function chooseThreshold(
  due: readonly Threshold[],
  layout: FilesystemLayout,
  { isBusy, isReclaiming }: Ongoing,
): Threshold | undefined {
  if (isBusy('hard')) return undefined;
  return due.find((threshold) => {
    if (isBusy('soft') && !isHard(threshold)) return false;
    return !isReclaiming || nodeReclaimSteps(threshold.signal, layout).length === 0;
  });
}

/** Returns the first pod of the ranking that can be evicted for the threshold. */
export function chooseVictim<Ranked extends { readonly pod: AllocatedPod }>(
  ranking: readonly Ranked[],
  threshold: Threshold,
  { canEvict }: Pick<Ongoing, 'canEvict'>,
): Ranked | undefined {
  const cause = isHard(threshold) ? 'hard' : 'soft';
  return ranking.find(({ pod }) => canEvict(pod, cause));
}
