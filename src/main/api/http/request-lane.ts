/**
 * Where calls wait for their turn: a rate, so many at a time, and an order. A call of a less important class is overtaken by the more
 * important ones that come within a second for each class between them, and by none that come later: nobody starves.
 */
import type { Clock } from '../../../shared/time/clock.ts';
import { ApiError } from '../api-client.ts';
import { TokenBucket, type RateLimit } from './token-bucket.ts';

/** How long a call lets the next more important class go first. */
const rankMs = 1_000;

export interface RequestLaneOptions {
  /** null: as fast as they come. */
  readonly limit: RateLimit | null;
  /** Calls under way at a time. */
  readonly slots: number;
  readonly maxWaiting: number;
  readonly clock: Clock;
}

interface Waiting {
  /** Its turn: who has the least is next, and of equals who came first. */
  readonly turn: number;
  readonly grant: () => void;
  readonly fail: (err: Error) => void;
}

export class RequestLane {
  readonly #options: RequestLaneOptions;
  readonly #bucket: TokenBucket | null;
  #waiting: Waiting[] = [];
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
  async enter(rank: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#closed) throw this.#closed;
    const { clock, maxWaiting } = this.#options;
    if (this.#waiting.length >= maxWaiting) {
      throw new ApiError(0, 'TooManyRequests', `${maxWaiting} calls to the API server wait already`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiting = { turn: clock.monotonic() + rank * rankMs, grant: resolve, fail: reject };
    const abort = () => {
      this.#waiting = this.#waiting.filter((other) => other !== waiting);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    const after = this.#waiting.findLastIndex((other) => other.turn <= waiting.turn);
    this.#waiting.splice(after + 1, 0, waiting);
    this.#admit();
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', abort);
    }
    return this.#slot();
  }

  /** Fails everyone who waits, and whoever comes. */
  close(err: Error): void {
    this.#closed = err;
    this.#cancelTimer?.();
    for (const { fail } of this.#waiting.splice(0)) fail(err);
  }

  #slot(): () => void {
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#inUse -= 1;
      this.#admit();
    };
  }

  #admit(): void {
    const { clock, slots } = this.#options;
    this.#cancelTimer?.();
    this.#cancelTimer = null;
    while (this.#waiting.length > 0 && this.#inUse < slots) {
      const waitMs = this.#bucket?.take(clock.monotonic()) ?? 0;
      if (waitMs > 0) {
        this.#cancelTimer = clock.after(waitMs, () => this.#admit());
        return;
      }
      this.#inUse += 1;
      this.#waiting.shift()!.grant();
    }
  }
}
