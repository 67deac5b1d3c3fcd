/**
 * A priority queue for calls, with a rate limit and a number of request slots. A call yields to calls of a higher class that arrive within
 * one second per class between them, and to none that arrive later, so no class starves. The calls of one pod yield to those of others in the same
 * way: each counts as if it had arrived some time after the one before it.
 */
import type { Clock } from '../../../shared/time/clock.ts';
import { ApiError } from '../api-client.ts';
import { TokenBucket, type RateLimit } from '../../../shared/concurrency/token-bucket.ts';

/** How long a call yields to the next higher class. */
const msPerRank = 1_000;
/** The calls of one pod count as arriving at least this far apart: 20 a second, less than half of the default rate of 50. */
const msPerPodCall = 50;
/** A pod's first calls count as arriving at once, so that an ordinary pod starts without a delay. */
const freePodCalls = 10;

export interface RequestLaneOptions {
  /** Null: no rate limit. */
  readonly limit: RateLimit | null;
  /** The maximum number of calls in flight. */
  readonly slots: number;
  readonly maxQueued: number;
  readonly clock: Clock;
}

interface QueuedCall {
  /** Arrival time plus the delay of the class. The lowest value is next, and among equals the earliest arrival. */
  readonly priorityTimeMs: number;
  readonly grant: () => void;
  readonly reject: (err: Error) => void;
}

export class RequestLane {
  readonly #options: RequestLaneOptions;
  readonly #bucket: TokenBucket | null;
  #queue: QueuedCall[] = [];
  /** By pod UID: when its last call counts as arrived. A value in the past is the pod's remaining share of `freePodCalls`. */
  readonly #podTimesMs = new Map<string, number>();
  #inUse = 0;
  #cancelTimer: (() => void) | null = null;
  #closed: Error | null = null;

  constructor(options: RequestLaneOptions) {
    this.#options = options;
    this.#bucket = options.limit && new TokenBucket(options.limit, options.clock.monotonic());
  }

  /**
   * Resolves when the call may be sent, with a function that releases its slot. The function is idempotent.
   *
   * @param rank the index of the call's class; 0 is the highest priority
   */
  async acquire(rank: number, signal: AbortSignal, podUID?: string): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#closed) throw this.#closed;
    const { maxQueued } = this.#options;
    if (this.#queue.length >= maxQueued) {
      throw new ApiError(0, 'TooManyRequests', `${maxQueued} calls to the API server wait already`);
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const call: QueuedCall = { priorityTimeMs: this.#arrivalMs(podUID) + rank * msPerRank, grant: resolve, reject };
    const abort = () => {
      this.#queue = this.#queue.filter((other) => other !== call);
      reject(signal.reason as Error);
    };
    signal.addEventListener('abort', abort, { once: true });
    const predecessorIndex = this.#queue.findLastIndex((other) => other.priorityTimeMs <= call.priorityTimeMs);
    this.#queue.splice(predecessorIndex + 1, 0, call);
    this.#grantSlots();
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', abort);
    }
    return this.#createRelease();
  }

  /** Replaces the rate limit, also for the calls that wait already. A lane that was created without a limit stays without one. */
  setLimit(limit: RateLimit): void {
    this.#bucket?.setLimit(limit, this.#options.clock.monotonic());
    this.#grantSlots();
  }

  /** Rejects queued calls and all later ones. */
  close(err: Error): void {
    this.#closed = err;
    this.#cancelTimer?.();
    for (const { reject } of this.#queue.splice(0)) reject(err);
  }

  #arrivalMs(podUID: string | undefined): number {
    const nowMs = this.#options.clock.monotonic();
    if (podUID === undefined) return nowMs;
    for (const [uid, timeMs] of this.#podTimesMs) {
      if (timeMs > nowMs - freePodCalls * msPerPodCall) break;
      this.#podTimesMs.delete(uid);
    }
    const timeMs = Math.max(this.#podTimesMs.get(podUID) ?? 0, nowMs - freePodCalls * msPerPodCall) + msPerPodCall;
    this.#podTimesMs.delete(podUID);
    this.#podTimesMs.set(podUID, timeMs);
    return Math.max(timeMs, nowMs);
  }

  #createRelease(): () => void {
    let ownsSlot = true;
    return () => {
      if (!ownsSlot) return;
      ownsSlot = false;
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
