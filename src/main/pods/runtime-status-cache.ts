/**
 * Main's replica of what the pleg thread saw of each pod. The pleg thread is the only writer of the truth; here its messages and
 * the answers to single looks are put in order. Upstream: pkg/kubelet/container/cache.go.
 */
import type { PlegNotification } from '../../shared/contracts/pleg.ts';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';

export class RuntimeStatusCache {
  readonly #statuses = new Map<PodUID, RuntimePodStatus>();
  /** Monotonic ms at which the newest relist that is complete here began; −Infinity: none yet, and nothing is known. */
  #relistedAtMs = -Infinity;
  /** Pods of which it did not tell all. */
  #unlooked: ReadonlySet<PodUID> = new Set();

  /** Takes in a message of the pleg thread. Answers with the pods about which more is known now. */
  apply(message: PlegNotification): PodUID[] {
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
    if (message.relistedAtMs !== undefined && message.relistedAtMs >= this.#relistedAtMs) {
      this.#relistedAtMs = message.relistedAtMs;
      this.#unlooked = new Set(message.uninspected);
    }
    return changed;
  }

  /** Takes in the answer to a single look, begun at `beganAtMs` (monotonic). True when it is news. */
  applyInspection(uid: PodUID, status: RuntimePodStatus | null, beganAtMs: number): boolean {
    const known = this.#statuses.get(uid);
    if (status) return this.#put(status);
    return known !== undefined && known.observedAtMs <= beganAtMs && this.#statuses.delete(uid);
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
  get isComplete(): boolean {
    return this.#relistedAtMs > -Infinity;
  }

  /** Whether what is here of the pod was seen after `monotonicMs`. */
  isNewerThan(uid: PodUID, monotonicMs: number): boolean {
    const relistedAtMs = this.#unlooked.has(uid) ? -Infinity : this.#relistedAtMs;
    return Math.max(this.#statuses.get(uid)?.observedAtMs ?? -Infinity, relistedAtMs) > monotonicMs;
  }

  #put(status: RuntimePodStatus): boolean {
    const known = this.#statuses.get(status.podUID);
    if (known && known.observedAtMs > status.observedAtMs) return false;
    this.#statuses.set(status.podUID, status);
    return true;
  }
}
