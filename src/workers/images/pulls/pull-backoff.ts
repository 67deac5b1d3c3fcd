/** Back-offs of failed pulls by pod and image, each with the last error (upstream image_manager.go: 10 s doubling to 5 min). */
import { backoffUntilMs, stepBackoff, type KeyedBackoff } from '../../../shared/time/backoff.ts';
import type { Clock } from '../../../shared/time/clock.ts';

const maxMs = 300_000;
/** client-go's flowcontrol.Backoff removes an entry after twice the maximum. */
const limits = { initialMs: 10_000, maxMs, resetAfterMs: 2 * maxMs };

export interface ActiveBackoff {
  /** Wall-clock ms. */
  readonly untilMs: number;
  readonly lastError: string;
}

export class PullBackoff {
  readonly #clock: Clock;
  readonly #entries = new Map<string, KeyedBackoff & { readonly lastError: string }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(key: string): ActiveBackoff | undefined {
    const entry = this.#entries.get(key);
    if (!entry) return undefined;
    const untilMs = backoffUntilMs(entry, entry.lastUpdateMs, this.#clock.now(), limits);
    return untilMs === undefined ? undefined : { untilMs, lastError: entry.lastError };
  }

  /** Records a failed attempt. */
  step(key: string, lastError: string): void {
    const nowMs = this.#clock.now();
    for (const [other, { lastUpdateMs }] of this.#entries) if (nowMs - lastUpdateMs > limits.resetAfterMs) this.#entries.delete(other);
    const entry = { ...stepBackoff(this.#entries.get(key), nowMs, nowMs, limits), lastError };
    this.#entries.set(key, entry);
  }
}
