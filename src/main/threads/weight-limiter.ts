/**
 * Bounds the memory that large pods take in the threads of the sync pool, whose heaps are limited: their tasks take turns. Small pods have no turn, and never wait.
 * A task that has run for long, as one with a hook, no longer counts, up to a second limit.
 */
import type { Clock } from '../../shared/time/clock.ts';

/** A pod with some thousand fields. */
const smallWeight = 256 * 1024;
/** All of them may be in one thread, with 320 MiB (supervised-pool.ts). */
const limits = { active: 96 * 1024 * 1024, total: 192 * 1024 * 1024 };
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

  /** Returns null when a task of this weight needs no turn. Else resolves with the function that ends the turn, or rejects when the limiter is closed or the signal aborts. */
  enter(weight: number, signal: AbortSignal): Promise<() => void> | null {
    if (weight < smallWeight) return null;
    return new Promise((resolve, reject) => {
      const entry: Waiting = { weight, enter: () => resolve(this.#begin(weight)), reject };
      const abort = () => {
        if (!this.#waiting.delete(entry)) return;
        reject(signal.reason as Error);
        this.#next();
      };
      if (signal.aborted) return reject(signal.reason as Error);
      signal.addEventListener('abort', abort, { once: true });
      this.#waiting.add(entry);
      this.#next();
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
      this.#next();
    };
    const cancel = this.#clock.after(overdueAfterMs, endActive);
    return () => {
      if (isOver) return;
      isOver = true;
      cancel();
      this.#total -= weight;
      endActive();
      this.#next();
    };
  }

  /** In the order in which they came. A weight above the limit is alone. */
  #next(): void {
    for (const entry of this.#waiting) {
      const { weight, enter } = entry;
      const fits = this.#active + weight <= limits.active && this.#total + weight <= limits.total;
      if (!fits && this.#total > 0) return;
      this.#waiting.delete(entry);
      enter();
    }
  }
}
