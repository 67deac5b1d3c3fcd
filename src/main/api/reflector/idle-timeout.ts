/** Ends what waits for lines that do not come. */
import type { Clock } from '../../../shared/time/clock.ts';

export class IdleTimeout {
  readonly #limitMs: number;
  readonly #clock: Clock;
  readonly #expired = new AbortController();
  /** Aborts with the one that was given, and when nothing was heard for too long. */
  readonly signal: AbortSignal;
  #lastAtMs: number;
  #cancel: () => void = () => {};

  /** `limitMs`: Infinity for silence that is no trouble. */
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

  /** From now on silence is no trouble. */
  stop(): void {
    this.#cancel();
  }

  /** One timer a limit, not one a line. */
  #check(): void {
    const leftMs = this.#lastAtMs + this.#limitMs - this.#clock.monotonic();
    if (leftMs <= 0) this.#expired.abort();
    else this.#cancel = this.#clock.after(leftMs, () => this.#check());
  }
}
