/**
 * `activeDeadlineSeconds`: a pod that has been active for that long ends as Failed. One timer for each pod that has a deadline, rung when it
 * is due. Upstream looks at it with each sync (pkg/kubelet/active_deadline.go).
 */
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Clock } from '../../../shared/time/clock.ts';

/** What the pod ends for, and what its event says. */
export const deadlineExceeded = {
  reason: 'DeadlineExceeded',
  message: 'Pod was active on the node longer than the specified deadline',
} as const;

/** Wall-clock ms at which the pod's time is over; null: it has no deadline, or has not begun. */
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

  /** Holds the pod to its deadline, which may have changed. One that is over already is told of before this returns. */
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
    // Looked at again when it rings: the wall clock may have been set back meanwhile.
    this.#timers.set(uid, { dueMs, cancel: this.#clock.after(leftMs, () => this.#set(uid, dueMs)) });
  }
}
