/**
 * A work queue by key, for clients of the API server that write many objects: at most one call of `work` per key, several keys in parallel, urgent keys
 * first. A key that is enqueued while its work is in flight is worked on once more afterwards. A failed key is retried after its own back-off. The queue has at
 * most one entry per key. Modelled on client-go's work queues.
 */
import { nextBackoffMs, withJitter, type BackoffLimits } from '../time/backoff.ts';
import type { Clock } from '../time/clock.ts';

export interface KeyedWorkQueueOptions<K> {
  /** A rejection means that the key is retried. The signal aborts when the queue is closed. */
  readonly work: (key: K, signal: AbortSignal) => Promise<void>;
  /** Called when the work of a key has failed. */
  readonly onError: (key: K, err: unknown, retryAfterMs: number) => void;
  /** The minimum delay that an error requires. */
  readonly retryAfterMs?: (err: unknown) => number | undefined;
  /** The maximum number of keys in flight. */
  readonly parallel: number;
  readonly backoff: BackoffLimits;
  readonly clock: Clock;
  /** Returns 0 to 1, for jitter. */
  readonly random: () => number;
}

/** Lengthens a delay by up to half, so that keys that failed together are not retried together. */
const jitterFactor = 0.5;

interface BackedOffKey {
  readonly cancel: () => void;
  urgent: boolean;
}

export class KeyedWorkQueue<K> {
  readonly #options: KeyedWorkQueueOptions<K>;
  /** The queue: the keys of `#urgent` come before those of `#waiting`. */
  readonly #urgent = new Set<K>();
  readonly #waiting = new Set<K>();
  readonly #inFlight = new Set<K>();
  /** Keys that were enqueued while in flight. True: urgent. */
  readonly #queuedAgain = new Map<K, boolean>();
  readonly #backedOff = new Map<K, BackedOffKey>();
  /** The last back-off of each key that has failed, in ms. */
  readonly #delays = new Map<K, number>();
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: KeyedWorkQueueOptions<K>) {
    this.#options = options;
  }

  /** Adds a key. A key in flight is worked on once more; a key that has failed still waits for the end of its back-off. */
  enqueue(key: K, urgent = false): void {
    if (this.#closing.signal.aborted) return;
    const backedOff = this.#backedOff.get(key);
    if (backedOff) backedOff.urgent ||= urgent;
    else if (this.#inFlight.has(key)) this.#queuedAgain.set(key, urgent || (this.#queuedAgain.get(key) ?? false));
    else this.#queue(key, urgent);
    this.#startNext();
  }

  /** True while the key is in flight, queued or backed off. */
  isBusy(key: K): boolean {
    return this.#inFlight.has(key) || this.#urgent.has(key) || this.#waiting.has(key) || this.#backedOff.has(key);
  }

  isInFlight(key: K): boolean {
    return this.#inFlight.has(key);
  }

  /** Removes the key from the queue. Work in flight continues. */
  forget(key: K): void {
    this.#urgent.delete(key);
    this.#waiting.delete(key);
    this.#queuedAgain.delete(key);
    this.#delays.delete(key);
    this.#backedOff.get(key)?.cancel();
    this.#backedOff.delete(key);
  }

  /** Retries the given keys that are backed off without waiting for the end of their back-off. */
  retryNow(keys: Iterable<K>): void {
    for (const key of keys) {
      const backedOff = this.#backedOff.get(key);
      if (!backedOff) continue;
      backedOff.cancel();
      this.#backedOff.delete(key);
      this.#queue(key, backedOff.urgent);
    }
    this.#startNext();
  }

  /** Retries all keys that are backed off, and resets their back-off. */
  resetBackoff(): void {
    this.#delays.clear();
    this.retryNow([...this.#backedOff.keys()]);
  }

  /** Starts no more work, aborts the work in flight, and resolves when that has ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const { cancel } of this.#backedOff.values()) cancel();
    this.#backedOff.clear();
    this.#urgent.clear();
    this.#waiting.clear();
    await Promise.all(this.#running);
  }

  #queue(key: K, urgent: boolean): void {
    if (urgent) {
      this.#waiting.delete(key);
      this.#urgent.add(key);
    } else if (!this.#urgent.has(key)) {
      this.#waiting.add(key);
    }
  }

  #startNext(): void {
    while (this.#inFlight.size < this.#options.parallel) {
      const queue = this.#urgent.size > 0 ? this.#urgent : this.#waiting;
      const next = queue.values().next();
      if (next.done) return;
      queue.delete(next.value);
      this.#inFlight.add(next.value);
      const running = this.#work(next.value).finally(() => this.#running.delete(running));
      this.#running.add(running);
    }
  }

  async #work(key: K): Promise<void> {
    const { work } = this.#options;
    try {
      await work(key, this.#closing.signal);
      this.#delays.delete(key);
      this.#inFlight.delete(key);
      const again = this.#queuedAgain.get(key);
      this.#queuedAgain.delete(key);
      if (again !== undefined) this.enqueue(key, again);
    } catch (err) {
      this.#inFlight.delete(key);
      if (!this.#closing.signal.aborted) this.#backOff(key, err);
    } finally {
      if (!this.#closing.signal.aborted) this.#startNext();
    }
  }

  #backOff(key: K, err: unknown): void {
    const { backoff, clock, random, onError, retryAfterMs } = this.#options;
    const baseMs = nextBackoffMs(this.#delays.get(key), backoff);
    this.#delays.set(key, baseMs);
    const delayMs = Math.max(withJitter(baseMs, jitterFactor, random), retryAfterMs?.(err) ?? 0);
    const isUrgent = this.#queuedAgain.get(key) ?? false;
    this.#queuedAgain.delete(key);
    this.#backedOff.set(key, { cancel: clock.after(delayMs, () => this.retryNow([key])), urgent: isUrgent });
    onError(key, err, delayMs);
  }
}
