/**
 * Sandboxes and containers about which the runtime did not answer. Each is left alone for a while that doubles with every failure, so
 * that one wedged container costs its pod a deadline now and then and nobody else anything. Meanwhile its pod says so.
 */
import type { Failure } from '../../../shared/errors/kubelet-error.ts';
import { nextBackoffMs, withJitter } from '../../../shared/time/backoff.ts';

/** A first failure that came at once is asked about again with the next relist; one that took its deadline, no sooner than that. */
const shortestMs = 1000;
const longestMs = 2 * 60_000;

interface Held {
  readonly failure: Failure;
  readonly backoffMs: number;
  readonly retryAtMs: number;
}

export class Quarantine {
  readonly #held = new Map<string, Held>();
  readonly #random: () => number;

  constructor(random: () => number = Math.random) {
    this.#random = random;
  }

  get size(): number {
    return this.#held.size;
  }

  /** Asking about it failed, after `tookMs`. Times are monotonic ms. */
  hold(id: string, failure: Failure, tookMs: number, nowMs: number): void {
    const before = this.#held.get(id)?.backoffMs;
    const backoffMs = nextBackoffMs(before, { initialMs: Math.max(shortestMs, tookMs), maxMs: longestMs });
    this.#held.set(id, { failure, backoffMs, retryAtMs: nowMs + withJitter(backoffMs, 0.1, this.#random) });
  }

  /** Why it should not be asked about now; undefined: it may be. */
  failureOf(id: string, nowMs: number): Failure | undefined {
    const held = this.#held.get(id);
    return held && held.retryAtMs > nowMs ? held.failure : undefined;
  }

  /** When asking about it is worth a try again; 0: any time. */
  retryAtMs(id: string): number {
    return this.#held.get(id)?.retryAtMs ?? 0;
  }

  /** It answered, or is gone. */
  release(id: string): void {
    this.#held.delete(id);
  }
}
