/**
 * Limits the rate of pulls with a token bucket (registryPullQPS, registryBurst). Like upstream, it rejects a pull when the bucket is
 * empty.
 */
import type { Clock } from '../../../shared/time/clock.ts';

export class PullThrottle {
  #perSecond: number;
  #burst: number;
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

  /** Applies to later pulls. Tokens above the new burst are lost. After an unlimited rate, which counts no tokens, the bucket is full. */
  setRate({ perSecond, burst }: { readonly perSecond: number; readonly burst: number }): void {
    if (perSecond === this.#perSecond && burst === this.#burst) return;
    this.#refill();
    this.#tokens = this.#perSecond <= 0 ? burst : Math.min(burst, this.#tokens);
    this.#perSecond = perSecond;
    this.#burst = burst;
  }

  tryAccept(): boolean {
    if (this.#perSecond <= 0) return true;
    this.#refill();
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }

  #refill(): void {
    const nowMs = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#refilledAtMs) / 1000) * this.#perSecond);
    this.#refilledAtMs = nowMs;
  }
}
