/**
 * The pulls under way: at most so many at once, in the order in which they were asked for, and one for all who want the same image at
 * the same time. Its length is bounded by the containers on the node: a container asks once and waits.
 */
export class PullQueue<T> {
  readonly #limit: number;
  readonly #shared = new Map<string, Promise<T>>();
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  /** Null: no limit. */
  constructor(limit: number | null) {
    this.#limit = limit ?? Number.POSITIVE_INFINITY;
  }

  /** Joins the pull of this key if one is under way or waits; else waits for its turn and runs it. */
  pull(key: string, run: () => Promise<T>): Promise<T> {
    const underWay = this.#shared.get(key);
    if (underWay) return underWay;
    const result = this.#inTurn(run).finally(() => this.#shared.delete(key));
    this.#shared.set(key, result);
    return result;
  }

  async #inTurn(run: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#limit) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running += 1;
    try {
      return await run();
    } finally {
      // The place goes on to the next without being free in between: nobody overtakes.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#running -= 1;
    }
  }
}
