/** Which pulls are backed off, by pod and image, and what the last try said (upstream image_manager.go: 10 s doubling to 5 min). */
import { backoffUntilMs, stepBackoff, type KeyedBackoff } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';

const maxMs = 300_000;
/** client-go's flowcontrol.Backoff forgets an entry after twice the maximum. */
const limits = { initialMs: 10_000, maxMs, resetAfterMs: 2 * maxMs };

export interface BackedOff {
  readonly untilMs: number;
  readonly lastError: string;
}

export class PullBackoff {
  readonly #clock: Clock;
  readonly #entries = new Map<string, KeyedBackoff & { readonly lastError: string }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(key: string): BackedOff | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    const untilMs = backoffUntilMs(entry, entry.lastUpdateMs, this.#clock.now(), limits);
    return untilMs === undefined ? undefined : { untilMs, lastError: entry.lastError };
  }

  /** A try failed. The wall-clock ms at which the next may be made. */
  step(key: string, lastError: string): number {
    const nowMs = this.#clock.now();
    for (const [other, { lastUpdateMs }] of this.#entries) if (nowMs - lastUpdateMs > limits.resetAfterMs) this.#entries.delete(other);
    const entry = { ...stepBackoff(this.#entries.get(key), nowMs, nowMs, limits), lastError };
    this.#entries.set(key, entry);
    return nowMs + entry.backoffMs;
  }
}
