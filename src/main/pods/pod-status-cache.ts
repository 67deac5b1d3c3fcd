/**
 * Main's replica of what the pleg thread saw of each pod. The pleg thread is the only writer of the truth; here its messages and
 * the answers to single looks are put in order, and those who wait for a newer look are woken. Upstream: pkg/kubelet/container/cache.go.
 */
import type { PlegMessage } from '../../shared/contracts/pleg.ts';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';

interface Waiter {
  readonly newerThanMs: number;
  readonly resolve: (status: RuntimePodStatus | null) => void;
}

export class PodStatusCache {
  readonly #statuses = new Map<PodUID, RuntimePodStatus>();
  readonly #waiters = new Map<PodUID, Set<Waiter>>();
  /** Monotonic ms at which the newest relist that is complete here began; −Infinity: none yet, and nothing is known. */
  #relistedAtMs = -Infinity;

  /** Takes in a message of the pleg thread. Answers with the pods about which more is known now. */
  apply(message: PlegMessage): PodUID[] {
    const changed: PodUID[] = [];
    for (const status of message.statuses) {
      if (this.#put(status)) changed.push(status.podUID);
    }
    for (const uid of message.gone) {
      // A look that began after this relist may have seen what was made meanwhile.
      const known = this.#statuses.get(uid);
      if (!known || known.observedAtMs > (message.relistedAtMs ?? Infinity)) continue;
      this.#statuses.delete(uid);
      changed.push(uid);
    }
    if (message.relistedAtMs !== undefined && message.relistedAtMs > this.#relistedAtMs) {
      this.#relistedAtMs = message.relistedAtMs;
      for (const uid of this.#waiters.keys()) this.#wake(uid, message.relistedAtMs);
    }
    return changed;
  }

  /** Takes in the answer to a single look, begun at `beganAtMs` (monotonic). True when it is news. */
  applyLook(uid: PodUID, status: RuntimePodStatus | null, beganAtMs: number): boolean {
    const known = this.#statuses.get(uid);
    let news = false;
    if (status) news = this.#put(status);
    else if (known && known.observedAtMs <= beganAtMs) news = this.#statuses.delete(uid);
    this.#wake(uid, beganAtMs);
    return news;
  }

  /** What was last seen; null: the runtime has nothing of the pod, as far as is known. */
  get(uid: PodUID): RuntimePodStatus | null {
    return this.#statuses.get(uid) ?? null;
  }

  /** Every pod that the runtime has something of. */
  all(): IterableIterator<RuntimePodStatus> {
    return this.#statuses.values();
  }

  /** True once one whole list of the runtime is here. */
  get complete(): boolean {
    return this.#relistedAtMs > -Infinity;
  }

  /** Whether what is here of the pod was seen after `monotonicMs`. */
  isNewerThan(uid: PodUID, monotonicMs: number): boolean {
    return Math.max(this.#statuses.get(uid)?.observedAtMs ?? -Infinity, this.#relistedAtMs) > monotonicMs;
  }

  /** What was seen of the pod after `monotonicMs`, as soon as it was; rejects with the signal's reason when that aborts first. */
  newerThan(uid: PodUID, monotonicMs: number, signal: AbortSignal): Promise<RuntimePodStatus | null> {
    if (this.isNewerThan(uid, monotonicMs)) return Promise.resolve(this.get(uid));
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason as Error);
      const waiters = this.#waiters.get(uid) ?? new Set();
      this.#waiters.set(uid, waiters);
      const settle = () => {
        waiters.delete(waiter);
        if (waiters.size === 0) this.#waiters.delete(uid);
        signal.removeEventListener('abort', onAbort);
      };
      const waiter: Waiter = {
        newerThanMs: monotonicMs,
        resolve: (status) => {
          settle();
          resolve(status);
        },
      };
      const onAbort = () => {
        settle();
        reject(signal.reason as Error);
      };
      signal.addEventListener('abort', onAbort);
      waiters.add(waiter);
    });
  }

  #put(status: RuntimePodStatus): boolean {
    const known = this.#statuses.get(status.podUID);
    if (known && known.observedAtMs > status.observedAtMs) return false;
    this.#statuses.set(status.podUID, status);
    this.#wake(status.podUID, status.observedAtMs);
    return true;
  }

  #wake(uid: PodUID, observedAtMs: number): void {
    for (const waiter of this.#waiters.get(uid) ?? []) {
      if (observedAtMs > waiter.newerThanMs) waiter.resolve(this.get(uid));
    }
  }
}
