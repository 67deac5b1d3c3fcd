/**
 * The resize conditions of each pod. They outlive a restart of the kubelet only in the pod's API status, from which `adopt` reads them. Upstream:
 * podResizeConditions of pkg/kubelet/status/status_manager.go.
 */
import type { Pod, PodCondition } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import { priorityBucket, priorityBuckets } from '../../../shared/kubernetes/priority-bucket.ts';
import { deferredResizeDuration, inProgressResizes, pendingResizes } from '../../../shared/metrics/definitions/resize.ts';
import type { Clock } from '../../../shared/time/clock.ts';

export type PendingReason = 'Deferred' | 'Infeasible';
/** How a deferred resize ended. */
export type Resolution = 'accepted' | 'reverted' | 'terminated';

export interface ResizeCondition {
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
  /** Wall-clock ms of the last change of the reason. */
  readonly sinceMs: number;
}

export interface PodResizeConditions {
  readonly pending?: ResizeCondition;
  readonly inProgress?: ResizeCondition;
}

interface Entry extends PodResizeConditions {
  readonly priority: number | undefined;
}

export class ResizeConditions {
  readonly #pods = new Map<PodUID, Entry>();
  readonly #clock: Pick<Clock, 'now'>;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  get(uid: PodUID): PodResizeConditions | undefined {
    return this.#pods.get(uid);
  }

  /** Takes over the conditions that an earlier kubelet has reported. */
  adopt(pod: Pod): void {
    const uid = podUID(pod);
    const find = (type: string) => pod.status?.conditions?.find((condition) => condition.type === type);
    const [pending, inProgress] = [find('PodResizePending'), find('PodResizeInProgress')];
    if (this.#pods.has(uid) || (!pending && !inProgress)) return;
    this.#set(pod, { ...(pending && { pending: fromApi(pending) }), ...(inProgress && { inProgress: fromApi(inProgress) }) });
  }

  /** Returns true when the reason or the generation has changed: then the caller records an event. */
  setPending(pod: Pod, reason: PendingReason, message: string): boolean {
    const before = this.#pods.get(podUID(pod))?.pending;
    const observedGeneration = pod.metadata.generation;
    const sinceMs = before?.reason === reason ? before.sinceMs : this.#clock.now();
    this.#set(pod, { pending: { reason, message, sinceMs, ...(observedGeneration !== undefined && { observedGeneration }) } });
    return before?.reason !== reason || before.observedGeneration !== observedGeneration;
  }

  clearPending(pod: Pod, resolution: Resolution): boolean {
    const before = this.#pods.get(podUID(pod))?.pending;
    if (!before) return false;
    this.#observeDeferred(podUID(pod), resolution);
    this.#set(pod, { pending: undefined });
    return true;
  }

  /** A new resize begins, without the error that an earlier one may have had. */
  start(pod: Pod): void {
    const observedGeneration = pod.metadata.generation;
    this.#set(pod, { inProgress: { sinceMs: this.#clock.now(), ...(observedGeneration !== undefined && { observedGeneration }) } });
  }

  /**
   * Returns the generation of the resize when the resize had no error before: then the caller records an event. It returns null for a repeated error,
   * whose message may contain a usage and so differs at each attempt.
   */
  setError(pod: Pod, message: string): { readonly generation: number | undefined } | null {
    const before = this.#pods.get(podUID(pod))?.inProgress;
    const generation = before?.observedGeneration ?? pod.metadata.generation;
    const isNew = before?.reason !== 'Error';
    const sinceMs = isNew ? this.#clock.now() : before.sinceMs;
    this.#set(pod, {
      inProgress: { reason: 'Error', message, sinceMs, ...(generation !== undefined && { observedGeneration: generation }) },
    });
    return isNew ? { generation } : null;
  }

  /** Returns the generation of the resize that has ended; null when none was in progress. */
  clearInProgress(pod: Pod): { readonly generation: number | undefined } | null {
    const before = this.#pods.get(podUID(pod))?.inProgress;
    if (!before) return null;
    this.#set(pod, { inProgress: undefined });
    return { generation: before.observedGeneration };
  }

  forget(uid: PodUID): void {
    if (!this.#pods.has(uid)) return;
    this.#observeDeferred(uid, 'terminated');
    this.#pods.delete(uid);
    this.#count();
  }

  #set(pod: Pod, change: { pending?: ResizeCondition | undefined; inProgress?: ResizeCondition | undefined }): void {
    const uid = podUID(pod);
    const { pending, inProgress } = { ...this.#pods.get(uid), ...change };
    if (pending || inProgress)
      this.#pods.set(uid, { priority: pod.spec.priority, ...(pending && { pending }), ...(inProgress && { inProgress }) });
    else this.#pods.delete(uid);
    this.#count();
  }

  #observeDeferred(uid: PodUID, resolution: Resolution): void {
    const { pending, priority } = this.#pods.get(uid) ?? {};
    if (pending?.reason !== 'Deferred') return;
    const seconds = Math.max(0, this.#clock.now() - pending.sinceMs) / 1000;
    deferredResizeDuration.observe(seconds, { resolution, priority_bucket: priorityBucket(priority) });
  }

  /** Counts all entries anew: at most a few pods have a resize that has not ended. */
  #count(): void {
    const entries = [...this.#pods.values()];
    inProgressResizes.set(entries.filter(({ inProgress }) => inProgress).length);
    for (const reason of ['Deferred', 'Infeasible'] as const)
      for (const bucket of priorityBuckets) {
        const count = entries.filter(({ pending, priority }) => pending?.reason === reason && priorityBucket(priority) === bucket).length;
        pendingResizes.set(count, { reason: reason.toLowerCase(), priority_bucket: bucket });
      }
  }
}

function fromApi({ reason, message, observedGeneration, lastTransitionTime }: PodCondition): ResizeCondition {
  return {
    ...(reason && { reason }),
    ...(message && { message }),
    ...(observedGeneration !== undefined && { observedGeneration }),
    sinceMs: Date.parse(lastTransitionTime ?? '') || 0,
  };
}
