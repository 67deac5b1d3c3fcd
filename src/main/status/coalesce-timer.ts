/** The wait of one pod's status for a change that follows soon. */
import type { Clock } from '../../shared/time/clock.ts';

export class CoalesceTimer {
  readonly #clock: Clock;
  #waiting: { readonly dueMs: number; readonly cancel: () => void } | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get isWaiting(): boolean {
    return this.#waiting !== null;
  }

  /** Calls `onDue` after this time. A wait that ends sooner goes on instead: a change that follows never lengthens it. */
  start(waitMs: number, onDue: () => void): void {
    const dueMs = this.#clock.monotonic() + waitMs;
    if (this.#waiting && this.#waiting.dueMs <= dueMs) return;
    this.cancel();
    const cancel = this.#clock.after(waitMs, () => {
      this.#waiting = null;
      onDue();
    });
    this.#waiting = { dueMs, cancel };
  }

  cancel(): void {
    this.#waiting?.cancel();
    this.#waiting = null;
  }
}
