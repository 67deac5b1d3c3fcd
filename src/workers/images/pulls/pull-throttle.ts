/**
 * Limits the rate of pulls with a token bucket (registryPullQPS, registryBurst). Like upstream, it rejects a pull when the bucket is
 * empty.
 */
import type { Clock } from '../../../shared/time/clock.ts';

export class PullThrottle {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #tokens: number;
  #refilledAtMs: number;

  /** `perSecond` is 0 for an unlimited rate. */
  constructor({ perSecond, burst, clock }: { readonly perSecond: number; readonly burst: number; readonly clock: Clock }) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#clock = clock;
    this.#tokens = burst;
    this.#refilledAtMs = clock.monotonic();
  }

  tryAccept(): boolean {
    if (this.#perSecond <= 0) return true;
    const nowMs = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#refilledAtMs) / 1000) * this.#perSecond);
    this.#refilledAtMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
