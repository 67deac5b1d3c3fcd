/** Aborts a watch that receives no event for too long. */
import type { Clock } from '../../../shared/time/clock.ts';

export class IdleTimeout {
  readonly #limitMs: number;
  readonly #clock: Clock;
  readonly #expired = new AbortController();
  /** Aborts with the signal that was passed in, and when the timeout expires. */
  readonly signal: AbortSignal;
  #lastAtMs: number;
  #cancel: () => void = () => {};

  /** @param limitMs Infinity: no timeout */
  constructor(limitMs: number, clock: Clock, signal: AbortSignal) {
    this.#limitMs = limitMs;
    this.#clock = clock;
    this.signal = AbortSignal.any([signal, this.#expired.signal]);
    this.#lastAtMs = clock.monotonic();
    if (limitMs < Infinity) this.#check();
  }

  get hasExpired(): boolean {
    return this.#expired.signal.aborted;
  }

  restart(): void {
    this.#lastAtMs = this.#clock.monotonic();
  }

  /** Cancels the timeout. */
  stop(): void {
    this.#cancel();
  }

  /** Uses one timer per period instead of one per event. */
  #check(): void {
    const leftMs = this.#lastAtMs + this.#limitMs - this.#clock.monotonic();
    if (leftMs <= 0) this.#expired.abort();
    else this.#cancel = this.#clock.after(leftMs, () => this.#check());
  }
}
