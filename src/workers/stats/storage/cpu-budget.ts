/** Limits work to a share of one core. */
import type { Clock } from '../../../shared/time/clock.ts';

/** Unused time of this length may be used later: a burst of new pods is measured at once. */
const maxSavedMs = 2000;

export class CpuBudget {
  readonly #share: number;
  readonly #clock: Clock;
  #freeAtMs = -Infinity;

  /** @param share 0.05: 50 ms of each second. */
  constructor(share: number, clock: Clock) {
    this.#share = share;
    this.#clock = clock;
  }

  /** The time until the next work may begin. */
  get waitMs(): number {
    return Math.max(0, this.#freeAtMs - this.#clock.monotonic());
  }

  /** With a share of 0.05, each ms of processor time blocks further work for 20 ms. */
  spend(cpuMs: number): void {
    this.#freeAtMs = Math.max(this.#freeAtMs, this.#clock.monotonic() - maxSavedMs) + cpuMs / this.#share;
  }
}
