/**
 * Work by key, as what talks to the API server of many things needs it: one piece in flight for each key, several keys at a time, what
 * arrives meanwhile made one; urgent keys first; what failed is tried again after a back-off of its own key. After client-go's work
 * queues. What waits is never more than one entry for each key.
 */
import { nextBackoffMs, withJitter, type BackoffLimits } from '../time/backoff.ts';
import type { Clock } from '../time/clock.ts';

export interface KeyedWorkQueueOptions<K> {
  /** Rejects: it is tried again. The signal aborts when the work is closed. */
  readonly work: (key: K, signal: AbortSignal) => Promise<void>;
  /** It will be tried again after so long. */
  readonly onError: (key: K, err: unknown, retryAfterMs: number) => void;
  /** The least that this error asks to be waited for. */
  readonly retryAfterMs?: (err: unknown) => number | undefined;
  /** How many keys are worked on at a time. */
  readonly parallel: number;
  readonly backoff: BackoffLimits;
  readonly clock: Clock;
  /** 0 to 1, for jitter. */
  readonly random: () => number;
}

/** Half of a delay more, so that what failed together does not come back together. */
const jitterFactor = 0.5;

interface BackedOff {
  readonly cancel: () => void;
  urgent: boolean;
}

export class KeyedWorkQueue<K> {
  readonly #options: KeyedWorkQueueOptions<K>;
  readonly #urgent = new Set<K>();
  readonly #waiting = new Set<K>();
  readonly #inFlight = new Set<K>();
  /** Asked for again while in flight; true: urgently. */
  readonly #again = new Map<K, boolean>();
  readonly #backedOff = new Map<K, BackedOff>();
  readonly #delays = new Map<K, number>();
  readonly #running = new Set<Promise<void>>();
  readonly #closing = new AbortController();

  constructor(options: KeyedWorkQueueOptions<K>) {
    this.#options = options;
  }

  /** The key is worked on, once more if it is being worked on now; one that failed waits for the end of its back-off all the same. */
  enqueue(key: K, urgent = false): void {
    if (this.#closing.signal.aborted) return;
    const backedOff = this.#backedOff.get(key);
    if (backedOff) backedOff.urgent ||= urgent;
    else if (this.#inFlight.has(key)) this.#again.set(key, urgent || (this.#again.get(key) ?? false));
    else this.#put(key, urgent);
    this.#begin();
  }

  /** It is being worked on, is about to be, or waits for its next try. */
  isBusy(key: K): boolean {
    return this.#inFlight.has(key) || this.#urgent.has(key) || this.#waiting.has(key) || this.#backedOff.has(key);
  }

  isInFlight(key: K): boolean {
    return this.#inFlight.has(key);
  }

  /** Nothing more is begun for the key. */
  forget(key: K): void {
    this.#urgent.delete(key);
    this.#waiting.delete(key);
    this.#again.delete(key);
    this.#delays.delete(key);
    this.#backedOff.get(key)?.cancel();
    this.#backedOff.delete(key);
  }

  /** What they failed of is over: those of these keys that are backed off are tried now. */
  retryNow(keys: Iterable<K>): void {
    for (const key of keys) {
      const backedOff = this.#backedOff.get(key);
      if (!backedOff) continue;
      backedOff.cancel();
      this.#backedOff.delete(key);
      this.#put(key, backedOff.urgent);
    }
    this.#begin();
  }

  /** What all of them failed of is over: every back-off ends now, and the next one is the first again. */
  resetBackoff(): void {
    this.#delays.clear();
    this.retryNow([...this.#backedOff.keys()]);
  }

  /** Begins nothing more, aborts what is in flight, and resolves when that has ended. */
  async close(): Promise<void> {
    this.#closing.abort();
    for (const { cancel } of this.#backedOff.values()) cancel();
    this.#backedOff.clear();
    this.#urgent.clear();
    this.#waiting.clear();
    await Promise.all(this.#running);
  }

  #put(key: K, urgent: boolean): void {
    if (urgent) {
      this.#waiting.delete(key);
      this.#urgent.add(key);
    } else if (!this.#urgent.has(key)) {
      this.#waiting.add(key);
    }
  }

  #begin(): void {
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
      const again = this.#again.get(key);
      this.#again.delete(key);
      if (again !== undefined) this.enqueue(key, again);
    } catch (err) {
      this.#inFlight.delete(key);
      if (!this.#closing.signal.aborted) this.#backOff(key, err);
    } finally {
      if (!this.#closing.signal.aborted) this.#begin();
    }
  }

  #backOff(key: K, err: unknown): void {
    const { backoff, clock, random, onError, retryAfterMs } = this.#options;
    const baseMs = nextBackoffMs(this.#delays.get(key), backoff);
    this.#delays.set(key, baseMs);
    const delayMs = Math.max(withJitter(baseMs, jitterFactor, random), retryAfterMs?.(err) ?? 0);
    const urgent = this.#again.get(key) ?? false;
    this.#again.delete(key);
    this.#backedOff.set(key, { cancel: clock.after(delayMs, () => this.retryNow([key])), urgent });
    onError(key, err, delayMs);
  }
}
