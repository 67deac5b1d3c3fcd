/**
 * Bounds the memory that large pods take in the threads of the sync pool, whose heaps are limited: their tasks begin only while the sum of the
 * weights of those that run is below a limit. Tasks of small pods never wait. A task that has run for long, such as one with a hook, counts only
 * against a second, higher limit.
 */
import type { Clock } from '../../shared/time/clock.ts';

/** Lighter pods are small. A pod of this weight has some thousand fields. */
const smallWeight = 256 * 1024;
/** In bytes: `active` for the tasks that have begun within `overdueAfterMs`, `total` for all. All may run in one thread, with 320 MiB (supervised-pool.ts). */
const limits = { active: 96 * 1024 * 1024, total: 192 * 1024 * 1024 };
/** A task that has run for this long waits for something, such as a hook. */
const overdueAfterMs = 30_000;

interface Waiting {
  readonly weight: number;
  readonly enter: () => void;
  readonly reject: (err: Error) => void;
}

export class WeightLimiter {
  readonly #clock: Clock;
  readonly #waiting = new Set<Waiting>();
  #active = 0;
  #total = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Returns null for a small weight: the task may run. Otherwise resolves when the task may run, with the function to call at its end. Rejects when
   * the limiter is closed or the signal aborts.
   */
  enter(weight: number, signal: AbortSignal): Promise<() => void> | null {
    if (weight < smallWeight) return null;
    return new Promise((resolve, reject) => {
      const entry: Waiting = { weight, enter: () => resolve(this.#begin(weight)), reject };
      const abort = () => {
        if (!this.#waiting.delete(entry)) return;
        reject(signal.reason as Error);
        this.#startWaiting();
      };
      if (signal.aborted) return reject(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.add(entry);
      this.#startWaiting();
    });
  }

  close(err: Error): void {
    for (const { reject } of this.#waiting) reject(err);
    this.#waiting.clear();
  }

  #begin(weight: number): () => void {
    this.#active += weight;
    this.#total += weight;
    let isActive = true;
    let isOver = false;
    const endActive = () => {
      if (!isActive) return;
      isActive = false;
      this.#active -= weight;
      this.#startWaiting();
    };
    const cancel = this.#clock.after(overdueAfterMs, endActive);
    return () => {
      if (isOver) return;
      isOver = true;
      cancel();
      this.#total -= weight;
      endActive();
      this.#startWaiting();
    };
  }

  /** Starts waiting tasks in the order in which they came. A weight above the limit runs alone. */
  #startWaiting(): void {
    for (const entry of this.#waiting) {
      const { weight, enter } = entry;
      const fits = this.#active + weight <= limits.active && this.#total + weight <= limits.total;
      if (!fits && this.#total > 0) return;
      this.#waiting.delete(entry);
      enter();
    }
  }
}
