/**
 * The sandboxes and containers whose status calls failed. Each is skipped for a time that doubles with every failure, so a hanging
 * container costs only its own pod an occasional deadline. Meanwhile the pod's status contains the failure.
 */
import type { Failure } from '../../../shared/errors/kubelet-error.ts';
import { nextBackoffMs, withJitter } from '../../../shared/time/backoff.ts';

/** An immediate failure is retried with the next relist. A failure after a deadline is retried no sooner than after the same duration. */
const initialBackoffMs = 1000;
const maxBackoffMs = 2 * 60_000;

interface QuarantinedItem {
  readonly failure: Failure;
  readonly backoffMs: number;
  readonly retryAtMs: number;
}

export class Quarantine {
  readonly #items = new Map<string, QuarantinedItem>();
  readonly #random: () => number;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  get size(): number {
    return this.#items.size;
  }

  /** Records a failed call that took `tookMs`. Times are monotonic ms. */
  add(id: string, failure: Failure, tookMs: number, nowMs: number): void {
    const previousBackoffMs = this.#items.get(id)?.backoffMs;
    const backoffMs = nextBackoffMs(previousBackoffMs, { initialMs: Math.max(initialBackoffMs, tookMs), maxMs: maxBackoffMs });
    this.#items.set(id, { failure, backoffMs, retryAtMs: nowMs + withJitter(backoffMs, 0.1, this.#random) });
  }

  /** Returns the failure while the item must not be requested, otherwise undefined. */
  failureOf(id: string, nowMs: number): Failure | undefined {
    const item = this.#items.get(id);
    return item && item.retryAtMs > nowMs ? item.failure : undefined;
  }

  /** The time of the next allowed call. 0 for an item without failures. */
  retryAtMs(id: string): number {
    return this.#items.get(id)?.retryAtMs ?? 0;
  }

  /** The item replied or was removed. */
  release(id: string): void {
    this.#items.delete(id);
  }
}
