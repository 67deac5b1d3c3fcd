/**
 * A hill climb that finds how many sandboxes and containers the runtime starts fastest at a time, and follows changes. Pure.
 *
 * Measured on 2 cores: one sandbox takes 100 ms alone and 7 s when 100 start at once; the rate of starts hardly grows beyond 8 at a time
 * and then falls. So the limit grows as long as the rate grows clearly, and shrinks when it does not: of two limits with the same rate, each
 * start takes less time at the smaller one.
 *
 *   probe up ──clearly higher rate──▶ keep, probe up further
 *       └──── no gain ──▶ go back, probe down ──same rate──▶ keep, probe down further
 *                               └──── clearly lower rate ──▶ go back, rest for some windows, probe up
 */
export interface StartParallelism {
  readonly limit: number;
  /** The best limit so far, and its rate in work per ms; null before the first window. */
  readonly base: { readonly limit: number; readonly rate: number } | null;
  /** `limit` is a neighbour of the base's limit, greater or smaller, that the next window measures; null: it is the base's limit. */
  readonly probing: 'up' | 'down' | null;
  /** The windows until the neighbours are probed again. */
  readonly restWindows: number;
}

/** One measurement: the work done in a period in which the limit was fully used and starts waited. */
export interface StartWindow {
  /** Successful starts, weighted by `startWork`. */
  readonly work: number;
  readonly durationMs: number;
}

export interface ParallelismBounds {
  readonly min: number;
  readonly max: number;
}

/** Weights in ms: a sandbox takes 75 ms, a container 9 ms to create and 38 ms to start (containerd, measured). */
export const startWork = { sandbox: 75, container: 47 } as const;

/** A step up must gain at least this: when a burst takes all cores, smaller differences are noise. A step down may lose a little. */
const minGain = 1.08;
const minRetained = 0.97;
/** The factor between a limit and the neighbour that is probed next. */
const step = 1.5;
/** Windows before the neighbours of the limit are probed again: the load of a node changes in minutes, not seconds. */
const restWindows = 6;

/**
 * Begins near the best limit, so that the first burst does not have to search for it: on two cores a program that only calls the CRI starts 100
 * pods in 16.6 s with two starts at a time, in 13.7 to 14 s with three to six, in 14.5 s with eight.
 */
const initialPerCore = 3;
const minPerCore = 2;
const maxLimit = 64;

export function boundsFor(cores: number): ParallelismBounds {
  return { min: Math.min(minPerCore * cores, maxLimit), max: maxLimit };
}

export function initialParallelism(cores: number, bounds: ParallelismBounds): StartParallelism {
  return { limit: clamp(initialPerCore * cores, bounds), base: null, probing: null, restWindows: 0 };
}

/** Returns the limit for the next window. */
export function nextParallelism(state: StartParallelism, window: StartWindow, bounds: ParallelismBounds): StartParallelism {
  const rate = window.work / Math.max(window.durationMs, 1);
  const { limit, base, probing } = state;
  if (base === null || probing === null) {
    if (state.restWindows > 0) return { limit, base: { limit, rate }, probing: null, restWindows: state.restWindows - 1 };
    return probe({ limit, rate }, 'up', bounds);
  }
  const accepted = probing === 'up' ? rate >= base.rate * minGain : rate >= base.rate * minRetained;
  if (accepted) return probe({ limit, rate }, probing, bounds);
  if (probing === 'up') return probe(base, 'down', bounds);
  return { limit: base.limit, base, probing: null, restWindows };
}

function probe(base: { limit: number; rate: number }, direction: 'up' | 'down', bounds: ParallelismBounds): StartParallelism {
  const wanted = direction === 'up' ? Math.ceil(base.limit * step) : Math.floor(base.limit / step);
  const limit = clamp(wanted === base.limit ? base.limit + (direction === 'up' ? 1 : -1) : wanted, bounds);
  // A bound has no neighbour on that side.
  if (limit !== base.limit) return { limit, base, probing: direction, restWindows: 0 };
  return direction === 'up' ? probe(base, 'down', bounds) : { limit, base, probing: null, restWindows };
}

function clamp(limit: number, { min, max }: ParallelismBounds): number {
  return Math.min(max, Math.max(min, limit));
}
