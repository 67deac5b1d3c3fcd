/**
 * A bounded queue of token reviews, fair by client address. Unauthenticated clients can cause reviews, so only few run concurrently. The
 * addresses are served round-robin: a flood from one address delays the tokens of another by one review. A full queue refuses at once.
 */
import type { Clock } from '../../../shared/time/clock.ts';

export interface ReviewQueueOptions {
  /** Maximum number of concurrent reviews. */
  readonly slots: number;
  readonly maxWaiting: number;
  readonly maxWaitingPerAddress: number;
  readonly maxWaitMs: number;
  readonly clock: Pick<Clock, 'after'>;
}

/** Call the function once to release the slot. Null when the queue is full or the wait has timed out. */
export type ReviewSlot = (() => void) | null;

interface Waiting {
  readonly isWanted: () => boolean;
  readonly settle: (slot: ReviewSlot) => void;
}

export class ReviewQueue {
  readonly #options: ReviewQueueOptions;
  /** The waiting reviews by address, in the order in which the addresses are served. */
  readonly #waiting = new Map<string, Waiting[]>();
  #waitingCount = 0;
  #inUse = 0;

  constructor(options: ReviewQueueOptions) {
    this.#options = options;
  }

  /** @param isWanted whether a client still waits for the review */
  acquire(address: string, isWanted: () => boolean): Promise<ReviewSlot> {
    const { slots, maxWaiting, maxWaitingPerAddress, maxWaitMs, clock } = this.#options;
    if (this.#inUse < slots) return Promise.resolve(this.#takeSlot());
    const waitingOfAddress = this.#waiting.get(address) ?? [];
    if (this.#waitingCount >= maxWaiting || waitingOfAddress.length >= maxWaitingPerAddress) return Promise.resolve(null);
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
      this.#waiting.set(address, [...waitingOfAddress, waiting]);
      this.#waitingCount += 1;
    });
  }

  #takeSlot(): () => void {
    this.#inUse += 1;
    return () => {
      this.#inUse -= 1;
      this.#serveNext();
    };
  }

  #serveNext(): void {
    for (;;) {
      const next = this.#waiting.entries().next();
      if (next.done) return;
      const [address, [first]] = next.value as [string, [Waiting]];
      this.#remove(address, first);
      if (first.isWanted()) return first.settle(this.#takeSlot());
      first.settle(null);
    }
  }

  /** Moves the address's remaining reviews behind the other addresses. */
  #remove(address: string, waiting: Waiting): void {
    const remaining = (this.#waiting.get(address) ?? []).filter((other) => other !== waiting);
    this.#waiting.delete(address);
    if (remaining.length > 0) this.#waiting.set(address, remaining);
    this.#waitingCount -= 1;
  }
}
