/**
 * Where token reviews wait for the API server. Anybody can cause them, so they are few at a time, and addresses take turns: a flood from
 * one address delays the tokens that come from others by one review, and what is too much is refused at once.
 */
import type { Clock } from '../../../shared/time/clock.ts';

export interface ReviewQueueOptions {
  /** Reviews under way at a time. */
  readonly slots: number;
  readonly maxWaiting: number;
  readonly maxWaitingPerAddress: number;
  /** Nobody waits longer. */
  readonly maxWaitMs: number;
  readonly clock: Pick<Clock, 'after'>;
}

/** Null: no place, or not in time. */
export type ReviewSlot = (() => void) | null;

interface Waiting {
  readonly isWanted: () => boolean;
  readonly settle: (slot: ReviewSlot) => void;
}

export class ReviewQueue {
  readonly #options: ReviewQueueOptions;
  /** In the order in which the addresses are served. */
  readonly #waiting = new Map<string, Waiting[]>();
  #waitingCount = 0;
  #inUse = 0;

  constructor(options: ReviewQueueOptions) {
    this.#options = options;
  }

  /** Resolves with what gives the slot back, to be called once. @param isWanted whether somebody still waits for the answer */
  acquire(address: string, isWanted: () => boolean): Promise<ReviewSlot> {
    const { slots, maxWaiting, maxWaitingPerAddress, maxWaitMs, clock } = this.#options;
    if (this.#inUse < slots) return Promise.resolve(this.#slot());
    const neighbours = this.#waiting.get(address) ?? [];
    if (this.#waitingCount >= maxWaiting || neighbours.length >= maxWaitingPerAddress) return Promise.resolve(null);
    return new Promise((resolve) => {
      const cancelTimer = clock.after(maxWaitMs, () => {
        this.#remove(address, waiting);
        resolve(null);
      });
      const settle = (slot: ReviewSlot) => {
        cancelTimer();
        resolve(slot);
      };
      const waiting: Waiting = { isWanted, settle };
      this.#waiting.set(address, [...neighbours, waiting]);
      this.#waitingCount += 1;
    });
  }

  #slot(): () => void {
    this.#inUse += 1;
    return () => {
      this.#inUse -= 1;
      this.#admit();
    };
  }

  #admit(): void {
    for (;;) {
      const next = this.#waiting.entries().next();
      if (next.done) return;
      const [address, [first]] = next.value as [string, [Waiting]];
      this.#remove(address, first);
      if (first.isWanted()) return first.settle(this.#slot());
      first.settle(null);
    }
  }

  /** What is left of the address goes behind the other addresses. */
  #remove(address: string, waiting: Waiting): void {
    const left = (this.#waiting.get(address) ?? []).filter((other) => other !== waiting);
    this.#waiting.delete(address);
    if (left.length > 0) this.#waiting.set(address, left);
    this.#waitingCount -= 1;
  }
}
