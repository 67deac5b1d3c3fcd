/**
 * Enforces `activeDeadlineSeconds`: a pod that has been active for that time ends as Failed. Each pod with a deadline has one timer. Upstream
 * checks the deadline in each sync (pkg/kubelet/active_deadline.go).
 */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Clock } from '../../../shared/time/clock.ts';

/** The reason and message of the pod's status and event. */
export const deadlineExceeded = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
} as const;

/** Wall-clock ms of the deadline; null when the pod has none or has not started. */
export function deadlineMs({ spec }: Pod, startTime: string | undefined): number | null {
  const { activeDeadlineSeconds } = spec;
  const startedAtMs = Date.parse(startTime ?? '');
  if (activeDeadlineSeconds === undefined || activeDeadlineSeconds === null || Number.isNaN(startedAtMs)) return null;
  return startedAtMs + activeDeadlineSeconds * 1000;
}

interface Timer {
  readonly dueMs: number;
  readonly cancel: () => void;
}

export class ActiveDeadlines {
  readonly #clock: Clock;
  readonly #onExceeded: (uid: PodUID) => void;
  readonly #timers = new Map<PodUID, Timer>();

  constructor({ clock, onExceeded }: { readonly clock: Clock; readonly onExceeded: (uid: PodUID) => void }) {
    this.#clock = clock;
    this.#onExceeded = onExceeded;
  }

  /** Starts or replaces the pod's timer. Calls `onExceeded` synchronously when the deadline has passed. */
  watch(pod: Pod, startTime: string | undefined): void {
    const uid = podUID(pod);
    const dueMs = deadlineMs(pod, startTime);
    if (this.#timers.get(uid)?.dueMs === dueMs) return;
    this.forget(uid);
    if (dueMs !== null) this.#set(uid, dueMs);
  }

  forget(uid: PodUID): void {
    this.#timers.get(uid)?.cancel();
    this.#timers.delete(uid);
  }

  close(): void {
    for (const { cancel } of this.#timers.values()) cancel();
    this.#timers.clear();
  }

  #set(uid: PodUID, dueMs: number): void {
    const leftMs = dueMs - this.#clock.now();
    if (leftMs <= 0) {
      this.#timers.delete(uid);
      return this.#onExceeded(uid);
    }
    // The timer checks the deadline again: the wall clock may have been set back meanwhile.
    this.#timers.set(uid, { dueMs, cancel: this.#clock.after(leftMs, () => this.#set(uid, dueMs)) });
  }
}
