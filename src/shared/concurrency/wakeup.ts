/** A wait that ends by its time or by a call, with bursts of calls made one: an editor's save is half a dozen file events. */
import type { Clock } from '../time/clock.ts';

/** Quiet for so long, a burst has ended: longer than a save takes between its events, short beside the start of a pod … */
const quietMs = 4;
/** … and a burst that does not end is not waited out. */
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

  /** Resolves after `ms`, or soon after a call to `wake`, also one made before this; at once when the signal aborts. */
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
