/** A token bucket (upstream client-go flowcontrol over golang.org/x/time/rate): `burst` calls at once, then `qps` a second. Pure: the caller passes the time. */

export interface RateLimit {
  readonly qps: number;
  readonly burst: number;
}

/** client-go's limit for a rate of 0. A rate of 0 does not turn the limit off. */
const defaultLimit: RateLimit = { qps: 5, burst: 10 };

/** Returns the limit that upstream's clients use for these settings. A rate of Infinity means no limit. */
export function effectiveLimit({ qps, burst }: RateLimit): RateLimit {
  return { qps: qps > 0 ? qps : defaultLimit.qps, burst: burst > 0 ? burst : defaultLimit.burst };
}

export class TokenBucket {
  #limit: RateLimit;
  #tokens: number;
  #filledAtMs: number;

  constructor(limit: RateLimit, nowMs: number) {
    this.#limit = limit;
    this.#tokens = limit.burst;
    this.#filledAtMs = nowMs;
  }

  /** Applies the limit from now on. Tokens above the new burst are lost. */
  setLimit(limit: RateLimit, nowMs: number): void {
    this.#refill(nowMs);
    this.#limit = limit;
    this.#tokens = Math.min(limit.burst, this.#tokens);
  }

  /** Takes a token and returns 0, or takes none and returns the ms until the next token. */
  take(nowMs: number): number {
    this.#refill(nowMs);
    if (this.#tokens >= 1 - rounding) {
      this.#tokens = Math.max(this.#tokens - 1, 0);
      return 0;
    }
    return ((1 - this.#tokens) * 1000) / this.#limit.qps;
  }

  #refill(nowMs: number): void {
    const { qps, burst } = this.#limit;
    const elapsedMs = Math.max(nowMs - this.#filledAtMs, 0);
    this.#filledAtMs = nowMs;
    // An infinite rate always fills the bucket. The formula would give NaN for it: 0 ms · ∞.
    this.#tokens = qps === Infinity ? burst : Math.min(burst, this.#tokens + (elapsedMs * qps) / 1000);
  }
}

/** Tolerates the rounding error of a thousand small refills. */
const rounding = 1e-9;
