/**
 * Where calls wait for their turn: a rate, so many at a time, and an order. A call of a less important class is overtaken by the more
 * important ones that come within a second for each class between them, and by none that come later: nobody starves.
 */
import type { Clock } from '../../../shared/time/clock.ts';
import { ApiError } from '../api-client.ts';
import { TokenBucket, type RateLimit } from './token-bucket.ts';

/** How long a call lets the next more important class go first. */
const msPerRank = 1_000;

export interface RequestLaneOptions {
  /** null: as fast as they come. */
  readonly limit: RateLimit | null;
  /** Calls under way at a time. */
  readonly slots: number;
  readonly maxQueued: number;
  readonly clock: Clock;
}

interface QueuedCall {
  /** Its turn: who has the least is next, and of equals who came first. */
  readonly priorityTimeMs: number;
  readonly grant: () => void;
  readonly reject: (err: Error) => void;
}

export class RequestLane {
  readonly #options: RequestLaneOptions;
  readonly #bucket: TokenBucket | null;
  #queue: QueuedCall[] = [];
  #inUse = 0;
  #cancelTimer: (() => void) | null = null;
  #closed: Error | null = null;

  constructor(options: RequestLaneOptions) {
    this.#options = options;
    this.#bucket = options.limit && new TokenBucket(options.limit, options.clock.monotonic());
  }

  /**
   * Resolves when the call may be sent, with what gives its slot back; that may be called once or more often.
   *
   * @param rank of its class, 0 is the most important
   */
  async acquire(rank: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#closed) throw this.#closed;
    const { clock, maxQueued } = this.#options;
    if (this.#queue.length >= maxQueued) {
      throw new ApiError(0, 'TooManyRequests', `${maxQueued} calls to the API server wait already`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const call: QueuedCall = { priorityTimeMs: clock.monotonic() + rank * msPerRank, grant: resolve, reject };
    const abort = () => {
      this.#queue = this.#queue.filter((other) => other !== call);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    const after = this.#queue.findLastIndex((other) => other.priorityTimeMs <= call.priorityTimeMs);
    this.#queue.splice(after + 1, 0, call);
    this.#grantSlots();
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', abort);
    }
    return this.#createRelease();
  }

  /** Fails everyone who waits, and whoever comes. */
  close(err: Error): void {
    this.#closed = err;
    this.#cancelTimer?.();
    for (const { reject } of this.#queue.splice(0)) reject(err);
  }

  #createRelease(): () => void {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#inUse -= 1;
      this.#grantSlots();
    };
  }

  #grantSlots(): void {
    const { clock, slots } = this.#options;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    while (this.#queue.length > 0 && this.#inUse < slots) {
      const waitMs = this.#bucket?.take(clock.monotonic()) ?? 0;
      if (waitMs > 0) {
        this.#cancelTimer = clock.after(waitMs, () => this.#grantSlots());
        return;
      }
      this.#inUse += 1;
      this.#queue.shift()!.grant();
    }
  }
}
