/**
 * The listeners of one notification, called in the order of their registration. An exception of a listener reaches the caller of `notify`, and the listeners
 * after it are not called.
 */
export class Listeners<Args extends readonly unknown[] = []> {
  readonly #listeners = new Set<(...args: Args) => void>();

  get size(): number {
    return this.#listeners.size;
  }

  /** Returns a function that removes the listener. */
  add(listener: (...args: Args) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Resolves with the next notification, or when the signal aborts. */
  async next(signal: AbortSignal): Promise<void> {
    if (signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const end = () => resolve();
    const remove = this.add(end);
    signal.addEventListener('abort', end);
    await promise;
    signal.removeEventListener('abort', end);
    remove();
  }

  notify(...args: Args): void {
    for (const listener of this.#listeners) listener(...args);
  }

  clear(): void {
    this.#listeners.clear();
  }
}
