/** The time at which the kubelet first saw a pod. It decides the pod's age among waiting starts and the beginning of its start latency. */
import { configSeenAnnotation } from '../../shared/kubernetes/annotations.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';

/** A pod that does not run after this time gets its first status, so that users see that the kubelet has the pod. */
export const firstStatusDelayMs = 500;

/** Wall-clock ms. 0 when the pod has neither the annotation of its source nor a creation timestamp. */
export function firstSeenMs({ metadata }: Pod): number {
  const firstSeen = Date.parse(metadata.annotations?.[configSeenAnnotation] ?? metadata.creationTimestamp ?? '');
  return Number.isNaN(firstSeen) ? 0 : firstSeen;
}
