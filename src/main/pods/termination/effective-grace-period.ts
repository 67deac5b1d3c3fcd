/** How long a terminating pod may take. It is asked for from several sides, and only ever shrinks; upstream: calculateEffectiveGracePeriod. */

/** Who may have a say in a pod's grace period; null where nobody of that kind spoke. All in seconds. */
export interface GracePeriodSources {
  /** What holds so far. */
  readonly current: number | null;
  /** metadata.deletionGracePeriodSeconds: the API server's word. */
  readonly deletion: number | null;
  /** Another part of the kubelet wants it faster (eviction, node shutdown). */
  readonly override: number | null;
  /** spec.terminationGracePeriodSeconds: holds only where nobody else spoke. */
  readonly spec: number | null;
}

/** Upstream never hands on less than a second: 0 would mean "not set" to the layers below. */
const minimumSeconds = 1;

/** The grace period that holds from now on, in whole seconds, never more than the current one. */
export function calculateEffectiveGracePeriod({ current, deletion, override, spec }: GracePeriodSources): number {
  const asked = [current, deletion, override].filter((seconds) => seconds !== null);
  const seconds = asked.length > 0 ? Math.min(...asked) : (spec ?? minimumSeconds);
  return Math.max(minimumSeconds, seconds);
}
