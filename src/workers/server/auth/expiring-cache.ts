/** Answers that hold for a while: bounded, the least recently asked for goes first. Clients choose the keys, so there must be an end to them. */
import type { Clock } from '../../../shared/time/clock.ts';

export class ExpiringCache<T> {
  readonly #entries = new Map<string, { readonly value: T; readonly untilMs: number }>();
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
    if (entry.untilMs <= this.#clock.monotonic()) return undefined;
    this.#entries.set(key, entry);
    return entry.value;
  }

  /** 0 ms: not kept. */
  set(key: string, value: T, forMs: number): void {
    this.#entries.delete(key);
    if (forMs <= 0) return;
    const oldest = this.#entries.keys().next();
    if (this.#entries.size >= this.#capacity && !oldest.done) this.#entries.delete(oldest.value);
    this.#entries.set(key, { value, untilMs: this.#clock.monotonic() + forMs });
  }

  get size(): number {
    return this.#entries.size;
  }
}
