/**
 * Collects the changes of one event-loop iteration into one call: 250 pods that arrive in one read of the socket cause one call, not 250.
 * A full batch is delivered at once, which bounds memory.
 */
const maxPending = 1000;

export class ChangeBatch<T> {
  readonly #onBatch: (changes: readonly T[]) => void;
  #pending: T[] = [];
  #timer: NodeJS.Immediate | null = null;

  constructor(onBatch: (changes: readonly T[]) => void) {
    this.#onBatch = onBatch;
  }

  add(change: T): void {
    this.#pending.push(change);
    if (this.#pending.length >= maxPending) this.flush();
    else this.#timer ??= setImmediate(() => this.flush());
  }

  /** Delivers pending changes now. */
  flush(): void {
    if (this.#timer) clearImmediate(this.#timer);
    this.#timer = null;
    if (this.#pending.length === 0) return;
    const changes = this.#pending;
    this.#pending = [];
    this.#onBatch(changes);
  }
}
