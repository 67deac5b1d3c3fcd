/** When this kubelet first saw a pod: a pod's age, and the beginning of its start. */
import { configSeenAnnotation } from '../../shared/kubernetes/annotations.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';

/** A pod that does not run this long after it was seen gets its first status then, so that its user sees that the kubelet has it. */
export const firstStatusDelayMs = 500;

/** Wall-clock ms; 0: neither its source nor the API server says. */
export function firstSeenMs({ metadata }: Pod): number {
  const seen = Date.parse(metadata.annotations?.[configSeenAnnotation] ?? metadata.creationTimestamp ?? '');
  return Number.isNaN(seen) ? 0 : seen;
}
