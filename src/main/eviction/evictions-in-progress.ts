/**
 * The evicted pods that have not finished. While one of them ends, no other pod is evicted for the same reason: what the pod frees is not visible yet. A
 * pod that does not end in time no longer counts, and is not evicted again: otherwise one pod that cannot be killed would stop all evictions. Upstream:
 * waitForPodsCleanup in pkg/kubelet/eviction/eviction_manager.go.
 */
import type { PodUID } from '../../shared/kubernetes/ids.ts';
import type { EvictionCause } from './evictions.ts';

/** Upstream's podCleanupTimeout: the time for the cleanup after the containers have stopped. */
const cleanupTimeoutMs = 30_000;
/** The time for the stop, as in killPodNow of pkg/kubelet/pod_workers.go: 1.5 times the grace period, and at least 10 s. */
const minKillTimeoutMs = 10_000;
const killTimeoutMsPerGraceSecond = 1500;

interface InProgress {
  readonly cause: EvictionCause;
  /** The pod is overdue from then on. Monotonic. */
  readonly untilMs: number;
}

export class EvictionsInProgress {
  readonly #pods = new Map<PodUID, InProgress>();
  /** Pods that did not end in time. */
  readonly #overdue = new Set<PodUID>();

  /** An eviction with a shorter grace period replaces the one before. */
  add(uid: PodUID, cause: EvictionCause, gracePeriodSeconds: number, nowMs: number): void {
    const untilMs = nowMs + Math.max(minKillTimeoutMs, gracePeriodSeconds * killTimeoutMsPerGraceSecond) + cleanupTimeoutMs;
    this.#pods.set(uid, { cause, untilMs });
  }

  /** The pod has finished, whether it was evicted or not. Returns true when no other eviction is in progress any more. */
  finish(uid: PodUID): boolean {
    this.#overdue.delete(uid);
    return this.#pods.delete(uid) && this.#pods.size === 0;
  }

  /** Returns the pods that are overdue from now on. */
  expire(nowMs: number): PodUID[] {
    const expired = [...this.#pods].filter(([, { untilMs }]) => untilMs <= nowMs).map(([uid]) => uid);
    for (const uid of expired) {
      this.#pods.delete(uid);
      this.#overdue.add(uid);
    }
    return expired;
  }

  isEvicted(uid: PodUID): boolean {
    return this.#pods.has(uid) || this.#overdue.has(uid);
  }

  /** Whether the pod may be evicted for this cause: it is not being evicted, or only softly, and a hard eviction shortens its grace period. */
  canEvict(uid: PodUID, cause: EvictionCause): boolean {
    if (this.#overdue.has(uid)) return false;
    const current = this.#pods.get(uid);
    return !current || (current.cause === 'soft' && cause === 'hard');
  }

  has(cause: EvictionCause): boolean {
    return this.#pods.values().some((pod) => pod.cause === cause);
  }
}
