/**
 * The grace period of one container while it runs out: hooks, waiting for its turn and the stop itself all live on it. It only
 * shrinks.
 */
import type { Clock } from '../../../shared/time/clock.ts';

export class GracePeriodBudget {
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #deadlineMs: number;

  constructor(clock: Clock, seconds: number) {
    this.#clock = clock;
    this.#deadlineMs = clock.monotonic() + seconds * 1000;
  }

  /** Whole seconds, a begun one counting in full: as upstream, which subtracts whole seconds only. */
  get remainingSeconds(): number {
    return Math.max(0, Math.ceil((this.#deadlineMs - this.#clock.monotonic()) / 1000));
  }

  /** From now on no more than this is left. */
  shrink(seconds: number): void {
    const deadlineMs = this.#clock.monotonic() + seconds * 1000;
    if (deadlineMs >= this.#deadlineMs) return;
    this.#deadlineMs = deadlineMs;
    for (const listener of this.#listeners) listener();
  }

  /** Called at each shrink. Returns how to stop listening. */
  onShrink(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /**
   * Runs `work` with a signal that aborts when the budget is used up, or with `stop`. Answers with what `work` did, or with
   * `expired` as soon as nothing is left: `work` is not waited for then. Rejects when `work` fails, or with `stop`'s reason.
   */
  async within(work: (signal: AbortSignal) => Promise<void>, stop: AbortSignal): Promise<'done' | 'expired'> {
    stop.throwIfAborted();
    const expiry = new AbortController();
    let disarm: () => void = () => {};
    const arm = () => {
      disarm();
      disarm = this.#clock.after(Math.max(0, this.#deadlineMs - this.#clock.monotonic()), () => expiry.abort());
    };
    const stopListening = this.onShrink(arm);
    arm();
    const signal = AbortSignal.any([expiry.signal, stop]);
    const aborted = new Promise<'expired'>((resolve, reject) => {
      signal.addEventListener('abort', () => (stop.aborted ? reject(stop.reason as Error) : resolve('expired')), { once: true });
    });
    try {
      const done = work(signal).then(
        () => 'done' as const,
        (err: unknown) => (signal.aborted ? aborted : Promise.reject(err as Error)),
      );
      return await Promise.race([done, aborted]);
    } finally {
      stopListening();
      disarm();
      // Nobody waits for it any more; what still runs is told.
      aborted.catch(() => {});
      expiry.abort();
    }
  }
}
