/** A clock that advances only when the test advances it. */
import type { Clock } from '../../src/shared/time/clock.ts';

interface Timer {
  readonly dueMs: number;
  readonly callback: () => void;
}

export class FakeClock implements Clock {
  #monotonic = 0;
  readonly #startMs: number;
  /** In the order of their creation. */
  readonly #timers = new Set<Timer>();

  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#startMs = startMs;
  }

  now(): number {
    return this.#startMs + this.#monotonic;
  }

  monotonic(): number {
    return this.#monotonic;
  }

  after(ms: number, callback: () => void): () => void {
    const timer = { dueMs: this.#monotonic + ms, callback };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason as Error);
      const cancel = this.after(ms, resolve);
      signal?.addEventListener('abort', () => {
        cancel();
        reject(signal.reason as Error);
      });
    });
  }

  /**
   * Advances the clock and calls the callbacks of due timers, in the order of their due times. Everything that is ready runs before the first and after
   * the last callback; between two callbacks, promises settle and one iteration of the event loop passes.
   */
  async advance(ms: number): Promise<void> {
    const end = this.#monotonic + ms;
    await settle();
    for (let next = this.#firstDue(end); next; next = this.#firstDue(end)) {
      this.#timers.delete(next);
      this.#monotonic = Math.max(this.#monotonic, next.dueMs);
      next.callback();
      await nextIteration();
    }
    this.#monotonic = end;
    await settle();
  }

  /** Returns the timer with the earliest due time; among equal due times, the timer that was created first. */
  #firstDue(endMs: number): Timer | undefined {
    let first: Timer | undefined;
    for (const timer of this.#timers) if (timer.dueMs <= endMs && (!first || timer.dueMs < first.dueMs)) first = timer;
    return first;
  }
}

/** Runs everything that is ready: five iterations of the event loop, for work that continues through another timer or file. */
export function settle(): Promise<void> {
  return new Promise((resolve) => {
    let iterations = 0;
    const count = (): void => {
      iterations += 1;
      if (iterations === 5) resolve();
      else setImmediate(count);
    };
    setImmediate(count);
  });
}

function nextIteration(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
