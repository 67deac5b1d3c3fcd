/** A token bucket (upstream client-go flowcontrol over golang.org/x/time/rate): `burst` at once, then `qps` a second. Time is given in. */

export interface RateLimit {
  readonly qps: number;
  readonly burst: number;
}

/** What client-go's clients take for a rate of 0: it is no way to have no limit. */
const defaultLimit: RateLimit = { qps: 5, burst: 10 };

/** The limit that upstream's clients would keep for these settings. */
export function effectiveLimit({ qps, burst }: RateLimit): RateLimit {
  return { qps: qps > 0 ? qps : defaultLimit.qps, burst: burst > 0 ? burst : defaultLimit.burst };
}

export class TokenBucket {
  readonly #limit: RateLimit;
  #tokens: number;
  #filledAt: number;

  constructor(limit: RateLimit, nowMs: number) {
    this.#limit = limit;
    this.#tokens = limit.burst;
    this.#filledAt = nowMs;
  }

  /** Takes a token, and answers 0; or takes none, and answers in how many ms there is one. */
  take(nowMs: number): number {
    const { qps, burst } = this.#limit;
    this.#tokens = Math.min(burst, this.#tokens + (Math.max(nowMs - this.#filledAt, 0) * qps) / 1000);
    this.#filledAt = nowMs;
    if (this.#tokens >= 1 - rounding) {
      this.#tokens = Math.max(this.#tokens - 1, 0);
      return 0;
    }
    return ((1 - this.#tokens) * 1000) / qps;
  }
}

/** Of a thousand small fillings. */
const rounding = 1e-9;
