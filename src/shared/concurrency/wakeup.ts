/** A wait that ends after a time or by a call. Coalesces bursts of calls: saving a file in an editor causes half a dozen file events. */
import type { Clock } from '../time/clock.ts';

/** A burst ends after this time without a call: longer than the time between the events of one save, and short compared to the start of a pod. */
const quietMs = 4;
/** The maximum duration of a burst. */
const maxBurstMs = 200;

export class Wakeup {
  readonly #clock: Clock;
  #woken = false;
  #onWake: (() => void) | null = null;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  wake(): void {
    this.#woken = true;
    this.#onWake?.();
  }

  /** Resolves after `ms`, or at the end of a burst of calls to `wake`, which may have begun before; immediately when the signal aborts. */
  async next(ms: number, signal: AbortSignal): Promise<void> {
    await this.#wait(ms, signal);
    const burstEnd = this.#clock.monotonic() + maxBurstMs;
    while (this.#woken && !signal.aborted) {
      this.#woken = false;
      if (this.#clock.monotonic() >= burstEnd) return;
      await this.#wait(quietMs, signal);
    }
  }

  #wait(ms: number, signal: AbortSignal): Promise<void> {
    if (this.#woken || signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const end = () => {
        cancel();
        signal.removeEventListener('abort', end);
        this.#onWake = null;
        resolve();
      };
      const cancel = this.#clock.after(ms, end);
      signal.addEventListener('abort', end);
      this.#onWake = end;
    });
  }
}
