/** An LRU cache with a lifetime per entry. It has a capacity because clients choose the keys. */
import type { Clock } from '../../../shared/time/clock.ts';

export class ExpiringCache<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly expiresAtMs: number }>();
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #capacity: number;

  constructor(clock: Pick<Clock, 'monotonic'>, capacity: number) {
    this.#clock = clock;
    this.#capacity = capacity;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    this.#entries.delete(key);
    if (entry.expiresAtMs <= this.#clock.monotonic()) return undefined;
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** Stores nothing when `ttlMs` is 0. */
  set(key: string, value: T, ttlMs: number): void {
    this.#entries.delete(key);
    if (ttlMs <= 0) return;
    const oldest = this.#entries.keys().next();
    if (this.#entries.size >= this.#capacity && !oldest.done) this.#entries.delete(oldest.value);
    this.#entries.set(key, { value, expiresAtMs: this.#clock.monotonic() + ttlMs });
  }

  get size(): number {
    return this.#entries.size;
  }
}
