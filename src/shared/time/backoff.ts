/**
 * Exponential back-off, in two forms: the delay before the next attempt, and entries of a table of back-offs by key (after client-go's
 * flowcontrol.Backoff), which reset after enough time without a failure. Pure.
 */
export interface BackoffLimits {
  readonly initialMs: number;
  readonly maxMs: number;
  /** Default: 2. */
  readonly factor?: number;
}

/** The delay that follows `previousMs` (undefined: the first delay). Never above the maximum. */
export function nextBackoffMs(previousMs: number | undefined, limits: BackoffLimits): number {
  const { initialMs, maxMs, factor = 2 } = limits;
  return Math.min(previousMs === undefined ? initialMs : previousMs * factor, maxMs);
}

/** A random delay in [ms, ms · (1 + maxFactor)), so that operations that failed together are not retried together. */
export function withJitter(ms: number, maxFactor: number, random: () => number = Math.random): number {
  return ms * (1 + maxFactor * random());
}

export interface KeyedBackoff {
  readonly backoffMs: number;
  /** Wall-clock ms of the last step. */
  readonly lastUpdateMs: number;
}

export interface KeyedBackoffLimits extends BackoffLimits {
  /** The back-off resets after this time without a failure. Twice the maximum in client-go. */
  readonly resetAfterMs: number;
}

/** The clock of the event's source may be slightly ahead of the kubelet's. */
const clockToleranceMs = 1000;

function hasExpired(entry: KeyedBackoff, eventMs: number, limits: KeyedBackoffLimits): boolean {
  return eventMs - entry.lastUpdateMs > limits.resetAfterMs;
}

/**
 * Returns the wall-clock ms at which the back-off after the event at `eventMs` ends. Undefined when the back-off has ended, and for an event in the
 * future: the clock was set back, and the wait would last until the old time comes again.
 */
export function backoffUntilMs(
  entry: KeyedBackoff | undefined,
  eventMs: number,
  nowMs: number,
  limits: KeyedBackoffLimits,
): number | undefined {
  if (!entry || hasExpired(entry, eventMs, limits) || eventMs - nowMs > clockToleranceMs) return undefined;
  const untilMs = eventMs + entry.backoffMs;
  return nowMs < untilMs ? untilMs : undefined;
}

/** The entry after one more failure at `eventMs`. */
export function stepBackoff(entry: KeyedBackoff | undefined, eventMs: number, nowMs: number, limits: KeyedBackoffLimits): KeyedBackoff {
  const previousMs = entry && !hasExpired(entry, eventMs, limits) ? entry.backoffMs : undefined;
  return { backoffMs: nextBackoffMs(previousMs, limits), lastUpdateMs: nowMs };
}
