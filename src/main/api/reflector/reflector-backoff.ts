/**
 * How long a reflector waits before it asks again: client-go's way, but not as far, and it starts afresh sooner. client-go watches on at once
 * when a connection is lost, where we read everything again after a back-off (reflector-state.ts); a node that has waited for a server that came back must not be deaf for most of a minute when it goes again.
 */
import { nextBackoffMs, withJitter } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';

/** client-go goes to 30 s (and, with its jitter, to a minute): so long a node would know nothing of its pods after some faults in a row. */
const limits = { initialMs: 800, maxMs: 8000 };
/** Who did not have to wait for this long, nor for as long as the last time, has a healthy server. */
const resetAfterMs = 10_000;
/** A delay lies in [d, 2d). */
const jitter = 1;
/** What a server may ask for with Retry-After. */
const maxRetryAfterMs = 60_000;

export class ReflectorBackoff {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #random: () => number;
  #previousMs: number | undefined;
  #lastAtMs = -Infinity;

  constructor(clock: Pick<Clock, 'monotonic'>, random: () => number) {
    this.#clock = clock;
    this.#random = random;
  }

  /** The next delay is the first again. */
  reset(): void {
    this.#previousMs = undefined;
  }

  /** The next delay, not below what the server asked for. */
  nextMs(retryAfterMs = 0): number {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#lastAtMs > Math.max(resetAfterMs, this.#previousMs ?? 0)) this.#previousMs = undefined;
    this.#previousMs = nextBackoffMs(this.#previousMs, limits);
    const delayMs = Math.max(withJitter(this.#previousMs, jitter, this.#random), Math.min(retryAfterMs, maxRetryAfterMs));
    // Counted from the end of the wait: a long one is no sign of health.
    this.#lastAtMs = nowMs + delayMs;
    return delayMs;
  }
}
