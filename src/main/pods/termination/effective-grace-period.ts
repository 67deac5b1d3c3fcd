/** Computes a terminating pod's grace period from several sources. It never grows. Upstream: calculateEffectiveGracePeriod. */

/** Null when the source sets none. */
export interface GracePeriodSources {
  /** The grace period in effect. */
  readonly currentSeconds: number | null;
  /** metadata.deletionGracePeriodSeconds. */
  readonly deletionSeconds: number | null;
  /** Set by another part of the kubelet (eviction, node shutdown). */
  readonly overrideSeconds: number | null;
  /** spec.terminationGracePeriodSeconds: used only when all others are null. */
  readonly specSeconds: number | null;
}

/** Upstream's minimum: the layers below treat 0 as unset. */
const minimumSeconds = 1;

/** Returns whole seconds, never more than `currentSeconds`. */
export function calculateEffectiveGracePeriod({
  currentSeconds: current,
  deletionSeconds: deletion,
  overrideSeconds: override,
  specSeconds: spec,
}: GracePeriodSources): number {
  const requested = [current, deletion, override].filter((seconds) => seconds !== null);
  const seconds = requested.length > 0 ? Math.min(...requested) : (spec ?? minimumSeconds);
  return Math.max(minimumSeconds, seconds);
}
