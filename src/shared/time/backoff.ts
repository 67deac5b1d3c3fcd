/**
 * Exponential back-off, in two shapes: the delay of the next try (pure), and a table of back-offs by key (after client-go's
 * flowcontrol.Backoff), where a key that stayed well for long enough starts afresh.
 */
export interface BackoffLimits {
  readonly initialMs: number;
  readonly maxMs: number;
  /** 2 unless said otherwise. */
  readonly factor?: number;
}

/** The delay after `previousMs`; the first one when there was none. Never above the maximum. */
export function nextBackoffMs(previousMs: number | undefined, limits: BackoffLimits): number {
  const { initialMs, maxMs, factor = 2 } = limits;
  return Math.min(previousMs === undefined ? initialMs : previousMs * factor, maxMs);
}

/** A delay somewhere in [ms, ms · (1 + maxFactor)): so that many that failed together do not come back together. */
export function withJitter(ms: number, maxFactor: number, random: () => number = Math.random): number {
  return ms * (1 + maxFactor * random());
}

export interface KeyedBackoff {
  readonly backoffMs: number;
  /** Wall-clock ms of the last step. */
  readonly lastUpdateMs: number;
}

export interface KeyedBackoffLimits extends BackoffLimits {
  /** An event this long after the last step starts afresh; twice the maximum in client-go. */
  readonly resetAfterMs: number;
}

function hasExpired(entry: KeyedBackoff, eventMs: number, limits: KeyedBackoffLimits): boolean {
  return eventMs - entry.lastUpdateMs > limits.resetAfterMs;
}

/** Until when the event at `eventMs` is backed off, as wall-clock ms; undefined when it is not. */
export function backoffUntilMs(
  entry: KeyedBackoff | undefined,
  eventMs: number,
  nowMs: number,
  limits: KeyedBackoffLimits,
): number | undefined {
  if (!entry || hasExpired(entry, eventMs, limits)) return undefined;
  const untilMs = eventMs + entry.backoffMs;
  return nowMs < untilMs ? untilMs : undefined;
}

/** The entry after one more failure at `eventMs`. */
export function stepBackoff(entry: KeyedBackoff | undefined, eventMs: number, nowMs: number, limits: KeyedBackoffLimits): KeyedBackoff {
  const previousMs = entry && !hasExpired(entry, eventMs, limits) ? entry.backoffMs : undefined;
  return { backoffMs: nextBackoffMs(previousMs, limits), lastUpdateMs: nowMs };
}
