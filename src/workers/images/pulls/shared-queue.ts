/**
 * Limits parallel calls, in the order of the requests, and shares one call between concurrent requests with the same key: pulls, and runs
 * of credential plugins. The containers of the node bound the length of the queue: each container makes one request at a time.
 */
import type { Clock } from '../../../shared/time/clock.ts';

export interface SharedQueueOptions {
  /** Null for unlimited calls. */
  readonly limit: number | null;
  /** A call that runs for longer no longer counts against the limit. Null: each call has a short deadline of its own. */
  readonly maxHoldMs: number | null;
  readonly clock: Clock;
}

export class SharedQueue<T> {
  readonly #limit: number;
  readonly #maxHoldMs: number | null;
  readonly #clock: Clock;
  /** The pending and running calls, by key. */
  readonly #shared = new Map<string, Promise<T>>();
  /** Each starts one waiting call. */
  readonly #waiting: (() => void)[] = [];
  /** The running calls that count against the limit. */
  #slotsInUse = 0;

  constructor({ limit, maxHoldMs, clock }: SharedQueueOptions) {
    this.#limit = limit ?? Number.POSITIVE_INFINITY;
    this.#maxHoldMs = maxHoldMs;
    this.#clock = clock;
  }

  /** What a call with this key would wait for: the same call of another request, or the limit. Null: nothing. */
  waitFor(key: string): 'sharedCall' | 'limit' | null {
    if (this.#shared.has(key)) return 'sharedCall';
    return this.#slotsInUse >= this.#limit ? 'limit' : null;
  }

  /** Joins the pending or running call with this key, or queues a new one. */
  run(key: string, call: () => Promise<T>): Promise<T> {
    const pending = this.#shared.get(key);
    if (pending) return pending;
    const result = this.#runQueued(call).finally(() => this.#shared.delete(key));
    this.#shared.set(key, result);
    return result;
  }

  async #runQueued(call: () => Promise<T>): Promise<T> {
    if (this.#slotsInUse >= this.#limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#slotsInUse += 1;
    let isHeld = true;
    const release = () => {
      if (isHeld) this.#release();
      isHeld = false;
    };
    const cancelTimer = this.#maxHoldMs === null ? () => {} : this.#clock.after(this.#maxHoldMs, release);
    try {
      return await call();
    } finally {
      cancelTimer();
      release();
    }
  }

  /** Passes the slot directly to the next call, so a new request cannot overtake it. */
  #release(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#slotsInUse -= 1;
  }
}
