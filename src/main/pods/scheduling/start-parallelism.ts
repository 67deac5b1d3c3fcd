/**
 * How many sandboxes and containers the runtime is asked to start at a time: found by trying, and followed. Pure.
 *
 * Measured on 2 cores: one sandbox takes 100 ms alone and 7 s when 100 are started at once, while the number started per second hardly
 * grows after 8 and then falls. So the limit climbs as long as more at a time gets clearly more done per second, and gives way when it
 * does not: of two limits that get as much done, the smaller one is better, since each start waits less.
 *
 *   probe up ──clearly more per second──▶ keep, probe up further
 *       └──── no gain ──▶ go back, probe down ──as much per second──▶ keep, probe down further
 *                               └──── clearly less ──▶ go back, rest for some windows, probe up
 */
export interface StartParallelism {
  readonly limit: number;
  /** The limit that is known to be good, and what it got done, in work per second. */
  readonly base: { readonly limit: number; readonly rate: number } | null;
  readonly probing: 'up' | 'down' | null;
  readonly restWindows: number;
}

/** What was seen while the limit was in full use and starts were waiting. */
export interface StartWindow {
  /** Successful starts, weighed by `startWork`. */
  readonly work: number;
  readonly durationMs: number;
}

export interface ParallelismBounds {
  readonly min: number;
  readonly max: number;
}

/** Sandbox against container (create and start): 75 ms against 9 + 38 on containerd, docs of the measured hosts. */
export const startWork = { sandbox: 75, container: 47 } as const;

/** Climbing by half must pay: less than this is noise, where a burst takes all cores. Giving way may cost a little. */
const gain = 1.08;
const tolerance = 0.97;
const step = 1.5;
/** Windows at the limit found before the neighbours are tried again: the load of a node changes in minutes, not seconds. */
const restWindows = 6;

/**
 * Starts a core, so that the first burst need not search: on two cores a bare driver takes for 100 pods 16.6 s with two at a time, 13.7 to 14 with
 * three to six, 14.5 with eight.
 */
const firstPerCore = 3;
const leastPerCore = 2;
const most = 64;

export function boundsFor(cores: number): ParallelismBounds {
  return { min: Math.min(leastPerCore * cores, most), max: most };
}

export function initialParallelism(cores: number, bounds: ParallelismBounds): StartParallelism {
  return { limit: clamp(firstPerCore * cores, bounds), base: null, probing: null, restWindows: 0 };
}

/** The limit for the next window. */
export function nextParallelism(state: StartParallelism, window: StartWindow, bounds: ParallelismBounds): StartParallelism {
  const rate = window.work / Math.max(window.durationMs, 1);
  const { limit, base, probing } = state;
  if (base === null || probing === null) {
    if (state.restWindows > 0) return { limit, base: { limit, rate }, probing: null, restWindows: state.restWindows - 1 };
    return probe({ limit, rate }, 'up', bounds);
  }
  const accepted = probing === 'up' ? rate >= base.rate * gain : rate >= base.rate * tolerance;
  if (accepted) return probe({ limit, rate }, probing, bounds);
  if (probing === 'up') return probe(base, 'down', bounds);
  return { limit: base.limit, base, probing: null, restWindows };
}

function probe(base: { limit: number; rate: number }, direction: 'up' | 'down', bounds: ParallelismBounds): StartParallelism {
  const wanted = direction === 'up' ? Math.ceil(base.limit * step) : Math.floor(base.limit / step);
  const limit = clamp(wanted === base.limit ? base.limit + (direction === 'up' ? 1 : -1) : wanted, bounds);
  // At a bound there is no neighbour on that side.
  if (limit !== base.limit) return { limit, base, probing: direction, restWindows: 0 };
  return direction === 'up' ? probe(base, 'down', bounds) : { limit, base, probing: null, restWindows };
}

function clamp(limit: number, { min, max }: ParallelismBounds): number {
  return Math.min(max, Math.max(min, limit));
}
