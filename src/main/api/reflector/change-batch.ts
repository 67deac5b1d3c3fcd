/**
 * Gathers what happens within one turn of the event loop: 250 pods that come in one read of the socket are one call, not 250. What
 * waits is bounded: a full batch does not wait for the turn to end.
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

  /** Hands on what waits, now. */
  flush(): void {
    if (this.#timer) clearImmediate(this.#timer);
    this.#timer = null;
    if (this.#pending.length === 0) return;
    const changes = this.#pending;
    this.#pending = [];
    this.#onBatch(changes);
  }
}
