/** Runs the operations of one key one after the other. Different keys never wait for each other. */
export class KeyedSequence<K> {
  /** The last operation of each key that has one. */
  readonly #last = new Map<K, Promise<unknown>>();

  /** Runs the operation once the key's earlier operations have ended. Settles like the operation. */
  async run<T>(key: K, operation: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve();
    const running = before.then(operation, operation);
    this.#last.set(key, running);
    try {
      return await running;
    } finally {
      if (this.#last.get(key) === running) this.#last.delete(key);
    }
  }

  /** Whether an operation of the key waits or is under way. */
  has(key: K): boolean {
    return this.#last.has(key);
  }

  /** Resolves when all operations that wait or run now, of any key, have ended. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#last.values());
  }
}
