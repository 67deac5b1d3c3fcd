/**
 * How long a start counts against the limit of starts in progress. Pure. A call that the runtime does not finish (a hung network plugin: four
 * minutes for a sandbox) must not keep other pods from starting; a call that is only slow must not let more starts in than the runtime can handle.
 *
 * A pod has at most one start in progress, so at most `maxPods` starts accumulate in the runtime. A runtime that finishes no call gets fewer:
 * beyond 64 hung starts, each further four double the time that the next start counts. A hung sandbox lasts 240 s, so at most 92 starts are in
 * progress with a limit of 6 (two cores), 154 with a limit of 64.
 */
export interface OverdueInput {
  /** Starts in progress that no longer count. */
  readonly uncountedStarts: number;
  /** Smoothed duration of recent starts; null before the first one ended. */
  readonly typicalMs: number | null;
  readonly critical: boolean;
}

/** A sandbox takes 100 ms alone, and 1 s when eight start at a time on two cores. A critical pod waits only for critical pods. */
const minMs = { critical: 1000, other: 3000 };
/** With a slow disk all starts are slow, and none of them hangs. */
const typicalMultiple = 4;
const maxMs = 10_000;
const uncountedBeforeBackoff = 64;
const uncountedPerDoubling = 4;

/** Ms from the beginning of a start until it stops counting. */
export function overdueAfterMs({ uncountedStarts, typicalMs, critical }: OverdueInput): number {
  const slowMs = Math.min(typicalMultiple * (typicalMs ?? 0), maxMs);
  const backoffFactor = 2 ** (Math.max(0, uncountedStarts - uncountedBeforeBackoff) / uncountedPerDoubling);
  return Math.max(critical ? minMs.critical : minMs.other, slowMs) * backoffFactor;
}

const smoothing = 1 / 8;
/** A longer start hung. */
const maxTypicalMs = 30_000;

/** Returns `typicalMs` updated with the duration of another start. */
export function nextTypicalMs(typicalMs: number | null, durationMs: number): number | null {
  if (durationMs > maxTypicalMs) return typicalMs;
  return typicalMs === null ? durationMs : typicalMs + (durationMs - typicalMs) * smoothing;
}
