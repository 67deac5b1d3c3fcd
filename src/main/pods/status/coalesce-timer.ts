/** Delays the write of one pod's status so that a change that follows soon goes into the same request. */
import type { Clock } from '../../../shared/time/clock.ts';

export class CoalesceTimer {
  readonly #clock: Clock;
  #pending: { readonly dueMs: number; readonly cancel: () => void } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isWaiting(): boolean {
    return this.#pending !== null;
  }

  /** Calls `onDue` after the delay. A running timer that ends sooner is kept: later changes never extend the delay. */
  start(delayMs: number, onDue: () => void): void {
    const dueMs = this.#clock.monotonic() + delayMs;
    if (this.#pending && this.#pending.dueMs <= dueMs) return;
    this.cancel();
    const cancel = this.#clock.after(delayMs, () => {
      this.#pending = null;
      onDue();
    });
    this.#pending = { dueMs, cancel };
  }

  cancel(): void {
    this.#pending?.cancel();
    this.#pending = null;
  }
}
