/**
 * Shares one fetch among all callers that call before it starts, such as a hundred pods that are added together. A caller during a fetch shares the next
 * one, because the result of the current fetch may be older than the call.
 */
export class SharedFetch<T> {
  readonly #fetch: () => Promise<T>;
  /** The fetch that has not started yet. */
  #next: Promise<T> | null = null;
  #inFlight: Promise<unknown> = Promise.resolve();

  constructor(fetch: () => Promise<T>) {
    this.#fetch = fetch;
  }

  get(): Promise<T> {
    this.#next ??= this.#start();
    return this.#next;
  }

  async #start(): Promise<T> {
    await this.#inFlight;
    this.#next = null;
    const result = this.#fetch();
    this.#inFlight = result.catch(() => {});
    return result;
  }
}
