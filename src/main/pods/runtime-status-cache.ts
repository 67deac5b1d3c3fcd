/**
 * Main's copy of the runtime status of each pod. The pleg thread observes the runtime, and only the sync loop writes its notifications into this cache.
 * A relist may end after inspections that began later, so the newer observation wins, not the later notification. Upstream:
 * pkg/kubelet/container/cache.go.
 */
import type { PlegNotification } from '../../shared/contracts/pleg.ts';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { PodUID } from '../../shared/kubernetes/ids.ts';

export class RuntimeStatusCache {
  readonly #statuses = new Map<PodUID, RuntimePodStatus>();
  /** Monotonic ms at which the newest applied relist began; −Infinity before the first one. */
  #relistedAtMs = -Infinity;
  readonly #complete = Promise.withResolvers<void>();
  /** Pods that the newest applied relist listed without an inspection. */
  #uninspected: ReadonlySet<PodUID> = new Set();

  /** Applies a notification of the pleg thread. Returns the pods whose status has changed. Only the sync loop calls this. */
  apply(notification: PlegNotification): PodUID[] {
    const changed: PodUID[] = [];
    for (const status of notification.statuses) {
      if (this.#put(status) && !notification.unchanged) changed.push(status.podUID);
    }
    for (const uid of notification.removed) {
      // An inspection after this relist may have found a sandbox that was created meanwhile.
      const current = this.#statuses.get(uid);
      if (!current || current.observedAtMs > (notification.relistedAtMs ?? Infinity)) continue;
      this.#statuses.delete(uid);
      changed.push(uid);
    }
    if (notification.relistedAtMs !== undefined && notification.relistedAtMs >= this.#relistedAtMs) {
      this.#relistedAtMs = notification.relistedAtMs;
      this.#complete.resolve();
      this.#uninspected = new Set(notification.uninspected);
    }
    return changed;
  }

  /** Returns the last known status; null when the runtime has nothing of the pod, as far as is known. */
  get(uid: PodUID): RuntimePodStatus | null {
    return this.#statuses.get(uid) ?? null;
  }

  /** Returns the status of every pod that the runtime has something of. */
  all(): IterableIterator<RuntimePodStatus> {
    return this.#statuses.values();
  }

  /** The pods for which the newest relist has found something in the runtime that no status shows yet. */
  get uninspected(): ReadonlySet<PodUID> {
    return this.#uninspected;
  }

  /** Resolves when a complete relist is applied. Until then the cache lacks running pods, which would seem never to have started. */
  untilComplete(): Promise<void> {
    return this.#complete.promise;
  }

  /** Whether a complete relist was applied. */
  get isComplete(): boolean {
    return this.#relistedAtMs > -Infinity;
  }

  /** Whether the pod's status was observed after `monotonicMs`. */
  isNewerThan(uid: PodUID, monotonicMs: number): boolean {
    const relistedAtMs = this.#uninspected.has(uid) ? -Infinity : this.#relistedAtMs;
    return Math.max(this.#statuses.get(uid)?.observedAtMs ?? -Infinity, relistedAtMs) > monotonicMs;
  }

  #put(status: RuntimePodStatus): boolean {
    const current = this.#statuses.get(status.podUID);
    if (current && current.observedAtMs > status.observedAtMs) return false;
    this.#statuses.set(status.podUID, status);
    return true;
  }
}
