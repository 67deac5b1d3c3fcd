/**
 * How long a start counts against the limit of starts under way: pure. A call that the runtime does not end (a hung network plugin, four
 * minutes for a sandbox) must not keep other pods from starting; a call that is merely slow must not let in more than the runtime can do.
 *
 * What may pile up at the runtime: one start a pod, so never more than `maxPods`. A runtime that ends no call at all gets fewer: from 64 hung
 * starts on each further four double the time that the next start counts. A hung sandbox lasts 240 s, so 92 starts are under way at most with
 * six at a time (two cores), 154 with 64 at a time.
 */
export interface OverdueInput {
  /** Starts under way that do not count any more. */
  readonly hung: number;
  /** What starts took lately; null: none has ended yet. */
  readonly typicalMs: number | null;
  readonly critical: boolean;
}

/** A sandbox takes 100 ms alone and one second when eight are started at a time on two cores. Critical pods wait for no more than others of their kind. */
const leastMs = { critical: 1000, other: 3000 };
/** Behind a slow disk all starts are slow: none of them hangs. */
const timesTypical = 4;
const mostMs = 10_000;
const freelyHung = 64;
const doublesEach = 4;

/** Ms from the beginning of a start until it counts no more. */
export function overdueAfterMs({ hung, typicalMs, critical }: OverdueInput): number {
  const slowMs = Math.min(timesTypical * (typicalMs ?? 0), mostMs);
  const pace = 2 ** (Math.max(0, hung - freelyHung) / doublesEach);
  return Math.max(critical ? leastMs.critical : leastMs.other, slowMs) * pace;
}

const smoothing = 1 / 8;
/** One that ends after so long hung. */
const mostTypicalMs = 30_000;

/** `typicalMs` after one more start. */
export function nextTypicalMs(typicalMs: number | null, tookMs: number): number | null {
  if (tookMs > mostTypicalMs) return typicalMs;
  return typicalMs === null ? tookMs : typicalMs + (tookMs - typicalMs) * smoothing;
}
