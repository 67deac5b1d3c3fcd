/**
 * The back-off of a reflector: like client-go's, with a lower maximum and an earlier reset. client-go resumes a watch at once after a lost
 * connection, whereas this reflector reads everything again after a back-off (reflector-state.ts). A node must not miss changes for most of
 * a minute when a server that came back fails again.
 */
import { nextBackoffMs, withJitter } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';

/** client-go's maximum is 30 s (a minute with jitter). For that long a node would learn nothing about its pods after several faults in a row. */
const limits = { initialMs: 800, maxMs: 8000 };
/** The back-off resets when the last wait ended longer ago than this, and longer ago than the last delay. */
const resetAfterMs = 10_000;
/** A delay of d becomes one in [d, 2d). */
const jitter = 1;
/** Caps the Retry-After of a server. */
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

  /** Makes the next delay the initial one. */
  reset(): void {
    this.#previousMs = undefined;
  }

  /** Returns the next delay, at least the server's Retry-After. */
  nextMs(retryAfterMs = 0): number {
    const nowMs = this.#clock.monotonic();
    if (nowMs - this.#lastAtMs > Math.max(resetAfterMs, this.#previousMs ?? 0)) this.#previousMs = undefined;
    this.#previousMs = nextBackoffMs(this.#previousMs, limits);
    const delayMs = Math.max(withJitter(this.#previousMs, jitter, this.#random), Math.min(retryAfterMs, maxRetryAfterMs));
    // Measured from the end of the wait: a long wait is no sign of a healthy server.
    this.#lastAtMs = nowMs + delayMs;
    return delayMs;
  }
}
