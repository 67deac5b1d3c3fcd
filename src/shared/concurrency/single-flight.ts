/** Shares one call per key among all callers that come while it is in flight. They share a failure too. Keeps no result. */
export class SingleFlight<Key, Result> {
  readonly #inFlight = new Map<Key, Promise<Result>>();

  run(key: Key, call: () => Promise<Result>): Promise<Result> {
    const inFlight = this.#inFlight.get(key);
    if (inFlight) return inFlight;
    const result = Promise.try(call).finally(() => this.#inFlight.delete(key));
    this.#inFlight.set(key, result);
    return result;
  }
}
