/** How many pulls may begin in a time: a token bucket (registryPullQPS, registryBurst). One that finds it empty is refused, as upstream. */
import type { Clock } from '../../../shared/time/clock.ts';

export class PullThrottle {
  readonly #perSecond: number;
  readonly #burst: number;
  readonly #clock: Clock;
  #tokens: number;
  #countedAtMs: number;

  /** `perSecond` 0: no limit. */
  constructor({ perSecond, burst, clock }: { readonly perSecond: number; readonly burst: number; readonly clock: Clock }) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#clock = clock;
    this.#tokens = burst;
    this.#countedAtMs = clock.monotonic();
  }

  tryAccept(): boolean {
    if (this.#perSecond <= 0) return true;
    const nowMs = this.#clock.monotonic();
    this.#tokens = Math.min(this.#burst, this.#tokens + ((nowMs - this.#countedAtMs) / 1000) * this.#perSecond);
    this.#countedAtMs = nowMs;
    if (this.#tokens < 1) return false;
    this.#tokens -= 1;
    return true;
  }
}
