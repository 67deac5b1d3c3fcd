/**
 * Limits parallel pulls, in the order of the requests, and shares one pull between concurrent requests with the same key. The containers
 * of the node bound its length: each container makes one request at a time.
 */
export class PullQueue<T> {
  readonly #limit: number;
  readonly #shared = new Map<string, Promise<T>>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** `limit` is null for unlimited pulls. */
  constructor(limit: number | null) {
    this.#limit = limit ?? Number.POSITIVE_INFINITY;
  }

  /** Joins the pending or running pull with this key, or queues a new one. */
  pull(key: string, run: () => Promise<T>): Promise<T> {
    const pending = this.#shared.get(key);
    if (pending) return pending;
    const result = this.#runQueued(run).finally(() => this.#shared.delete(key));
    this.#shared.set(key, result);
    return result;
  }

  async #runQueued(run: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      return await run();
    } finally {
      // Passes the slot directly to the next pull, so a new request cannot overtake it.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
