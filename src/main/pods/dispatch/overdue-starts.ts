/**
 * Computes how long a start counts against the limit of starts in progress. Pure. A call that the runtime does not finish (a hung network plugin:
 * four minutes for a sandbox) must not keep other pods from starting; a call that is only slow must not let more starts in than the runtime can
 * handle. A start that takes longer is overdue: it stops counting, although the runtime may continue it.
 *
 * A pod has at most one start in progress, so at most `maxPods` starts accumulate in the runtime. A runtime that finishes no call gets fewer:
 * beyond 64 uncounted starts, each further four double the time that the next start counts. RunPodSandbox has a deadline of 240 s. A simulation
 * with that deadline (start-admission.test.ts) has at most 92 starts in progress with a limit of 6 (two cores), and 154 with a limit of 64.
 */
export interface OverdueInput {
  /** Starts in progress that no longer count against the limit. */
  readonly uncountedStarts: number;
  /** Smoothed duration of recent starts; null before the first one ended. */
  readonly typicalMs: number | null;
  readonly critical: boolean;
}

/**
 * Every start counts for at least this long. A sandbox takes 100 ms alone, and 1 s when eight start at a time on two cores. A critical pod waits
 * only for the starts of critical pods, and for a shorter time.
 */
const minMs = { critical: 1000, other: 3000 };
/** A start counts for this multiple of the typical duration, up to a maximum: with a slow disk all starts are slow, and none of them hangs. */
const typicalMultiple = 4;
const maxSlowMs = 10_000;
const uncountedBeforeBackoff = 64;
const uncountedPerDoubling = 4;

/** Ms from the beginning of a start until it stops counting. */
export function overdueAfterMs({ uncountedStarts, typicalMs, critical }: OverdueInput): number {
  const slowMs = Math.min(typicalMultiple * (typicalMs ?? 0), maxSlowMs);
  const backoffFactor = 2 ** (Math.max(0, uncountedStarts - uncountedBeforeBackoff) / uncountedPerDoubling);
  return Math.max(critical ? minMs.critical : minMs.other, slowMs) * backoffFactor;
}

/** The weight of the newest start in the moving average. */
const smoothing = 1 / 8;
/** A start that took longer was hung, and does not count for the average. */
const maxTypicalMs = 30_000;

/** Returns `typicalMs` updated with the duration of another start. */
export function nextTypicalMs(typicalMs: number | null, durationMs: number): number | null {
  if (durationMs > maxTypicalMs) return typicalMs;
  return typicalMs === null ? durationMs : typicalMs + (durationMs - typicalMs) * smoothing;
}
