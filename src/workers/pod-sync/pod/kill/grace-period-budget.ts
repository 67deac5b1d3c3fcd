/**
 * Counts down the grace period of one container that is killed. The preStop hook, the wait for other containers and the stop itself share
 * it. The period only shrinks.
 */
import type { Clock } from '../../../../shared/time/clock.ts';
import { Listeners } from '../../../../shared/concurrency/listeners.ts';

export class GracePeriodBudget {
  readonly #clock: Clock;
  readonly #listeners = new Listeners();
  #deadlineMs: number;

  constructor(clock: Clock, seconds: number) {
    this.#clock = clock;
    this.#deadlineMs = clock.monotonic() + seconds * 1000;
  }

  /** Monotonic ms. */
  get deadlineMs(): number {
    return this.#deadlineMs;
  }

  /** Rounded up to whole seconds: upstream also subtracts whole seconds only. */
  get remainingSeconds(): number {
    return Math.max(0, Math.ceil((this.#deadlineMs - this.#clock.monotonic()) / 1000));
  }

  /** Limits the remaining time, counted from now. */
  shrink(seconds: number): void {
    const deadlineMs = this.#clock.monotonic() + seconds * 1000;
    if (deadlineMs >= this.#deadlineMs) return;
    this.#deadlineMs = deadlineMs;
    this.#listeners.notify();
  }

  /** Calls the listener at each shrink. Call the result to remove it. */
  onShrink(listener: () => void): () => void {
    return this.#listeners.add(listener);
  }

  /**
   * Runs `work` with a signal that aborts when the budget is used up or when `stop` aborts. Resolves with `done` when `work` resolves, or
   * with `expired` as soon as no time is left, without waiting for `work`. Rejects when `work` fails, or with the reason of `stop`.
   */
  async within(work: (signal: AbortSignal) => Promise<void>, stop: AbortSignal): Promise<'done' | 'expired'> {
    stop.throwIfAborted();
    const expiry = new AbortController();
    let cancelTimer: () => void = () => {};
    const restartTimer = () => {
      cancelTimer();
      cancelTimer = this.#clock.after(Math.max(0, this.#deadlineMs - this.#clock.monotonic()), () => expiry.abort());
    };
    const stopListening = this.onShrink(restartTimer);
    restartTimer();
    const signal = AbortSignal.any([expiry.signal, stop]);
    const aborted = new Promise<'expired'>((resolve, reject) => {
      signal.addEventListener('abort', () => (stop.aborted ? reject(stop.reason as Error) : resolve('expired')), { once: true });
    });
    try {
      const finished = work(signal).then(
        () => 'done' as const,
        (err: unknown) => (signal.aborted ? aborted : Promise.reject(err as Error)),
      );
      return await Promise.race([finished, aborted]);
    } finally {
      stopListening();
      cancelTimer();
      // Work that still runs is no longer awaited: abort it.
      aborted.catch(() => {});
      expiry.abort();
    }
  }
}
