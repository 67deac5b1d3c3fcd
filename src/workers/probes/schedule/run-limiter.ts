/**
 * Limits how many probes run at once, fairly between pods: the pods that wait take turns. A run that has taken long is overdue and no longer counts against the
 * limit, because it waits and needs no CPU; so commands that hang don't keep others from running. A second limit bounds all runs, a third those of one pod.
 * A pod chooses its timeouts, so a few pods could hold all runs for days: each pod has some runs that the second limit does not count. The runs of a pod that has
 * spent more than its share of the thread's time wait.
 */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { PodBudget } from './pod-budget.ts';
import type { TimerEntry, TimerQueue } from './timer-queue.ts';

export interface RunLimits {
  /** The most active runs: those that are not overdue. */
  readonly active: number;
  /** After this time a run is overdue, and no longer counts as active. */
  readonly overdueAfterMs: number;
  /** The most runs of all pods, and of one pod, overdue runs included. */
  readonly total: number;
  readonly perPod: number;
  /** A pod with fewer runs than this starts one even beyond `total`. */
  readonly guaranteed: number;
}

/** A run that waits for its start, or has started. */
export interface Slot {
  readonly podUID: PodUID;
  readonly start: () => void;
  /** The run has a TLS handshake, whose cost the server chooses. */
  readonly hasHandshake: boolean;
  startedAtMs: number;
  /** How long the run has kept the thread busy. */
  spentMs: number;
}

export class RunLimiter {
  readonly #limits: RunLimits;
  readonly #timers: TimerQueue;
  readonly #budget: PodBudget;
  /** The pods in the order of their turns, each with its waiting runs. */
  readonly #waiting = new Map<PodUID, Set<Slot>>();
  /** In the order of their starts. */
  readonly #active = new Set<Slot>();
  readonly #overdue = new Set<Slot>();
  /** Active and overdue runs by pod. */
  readonly #runsOfPod = new Map<PodUID, number>();
  #overdueTimer: TimerEntry | undefined;
  #budgetTimer: TimerEntry | undefined;

  constructor(limits: RunLimits, timers: TimerQueue, budget = new PodBudget()) {
    this.#limits = limits;
    this.#budget = budget;
    this.#timers = timers;
  }

  /** Calls `start` now, or when it is the run's turn. Release the slot in both cases. */
  acquire(podUID: PodUID, start: () => void, hasHandshake = false): Slot {
    const slot: Slot = { podUID, start, hasHandshake, startedAtMs: NaN, spentMs: 0 };
    const queue = this.#waiting.get(podUID);
    if (queue) queue.add(slot);
    else this.#waiting.set(podUID, new Set([slot]));
    this.#startWaiting();
    return slot;
  }

  /** Ends a run, or its waiting. Idempotent. */
  release(slot: Slot): void {
    if (this.#active.delete(slot) || this.#overdue.delete(slot)) {
      const left = this.#runsOfPod.get(slot.podUID)! - 1;
      if (left > 0) this.#runsOfPod.set(slot.podUID, left);
      else this.#runsOfPod.delete(slot.podUID);
      if (slot.hasHandshake) this.#budget.end(slot.podUID, slot.spentMs);
      this.#startWaiting();
      return;
    }
    const queue = this.#waiting.get(slot.podUID);
    if (queue?.delete(slot) && queue.size === 0) this.#waiting.delete(slot.podUID);
  }

  /** Call this when a run has kept the thread busy. */
  charge(slot: Slot, spentMs: number): void {
    slot.spentMs += spentMs;
    this.#budget.charge(slot.podUID, spentMs, this.#timers.nowMs());
  }

  /** Whether a run may make another attempt. */
  hasTimeLeft({ podUID }: Slot): boolean {
    return this.#budget.startsAtMs(podUID) <= this.#timers.nowMs();
  }

  #startWaiting(): void {
    while (this.#waiting.size > 0) {
      this.#markOverdue();
      const { active, total, perPod, guaranteed } = this.#limits;
      if (this.#active.size >= active) break;
      const isFull = this.#active.size + this.#overdue.size >= total;
      const slot = this.#takeNext(isFull ? Math.min(guaranteed, perPod) : perPod);
      if (!slot) break;
      slot.startedAtMs = this.#timers.nowMs();
      this.#active.add(slot);
      this.#runsOfPod.set(slot.podUID, (this.#runsOfPod.get(slot.podUID) ?? 0) + 1);
      if (slot.hasHandshake) this.#budget.begin(slot.podUID);
      slot.start();
    }
    this.#setOverdueTimer();
    this.#setBudgetTimer();
  }

  /** Takes a waiting run of the first pod that has fewer runs than `perPod`, and time left. The pod's other runs then wait behind the other pods. */
  #takeNext(perPod: number): Slot | undefined {
    const nowMs = this.#timers.nowMs();
    for (const [podUID, queue] of this.#waiting) {
      if ((this.#runsOfPod.get(podUID) ?? 0) >= perPod || this.#budget.startsAtMs(podUID) > nowMs) continue;
      const [slot] = queue;
      if (slot!.hasHandshake && !this.#budget.leavesTime(podUID, nowMs)) continue;
      queue.delete(slot!);
      this.#waiting.delete(podUID);
      if (queue.size > 0) this.#waiting.set(podUID, queue);
      return slot;
    }
    return undefined;
  }

  /** Wakes the first pod that waits for its share. */
  #setBudgetTimer(): void {
    if (this.#budgetTimer || this.#waiting.size === 0) return;
    const nowMs = this.#timers.nowMs();
    let nextMs = Infinity;
    for (const podUID of this.#waiting.keys()) {
      const startsAtMs = this.#budget.startsAtMs(podUID);
      if (startsAtMs > nowMs) nextMs = Math.min(nextMs, startsAtMs);
    }
    if (nextMs === Infinity) return;
    this.#budgetTimer = this.#timers.at(nextMs, () => {
      this.#budgetTimer = undefined;
      this.#startWaiting();
    });
  }

  #markOverdue(): void {
    const beforeMs = this.#timers.nowMs() - this.#limits.overdueAfterMs;
    for (const slot of this.#active) {
      if (slot.startedAtMs > beforeMs) return;
      this.#active.delete(slot);
      this.#overdue.add(slot);
    }
  }

  /** While runs wait, the oldest active one frees its slot when it is overdue. */
  #setOverdueTimer(): void {
    if (this.#overdueTimer || this.#waiting.size === 0 || !Number.isFinite(this.#limits.overdueAfterMs)) return;
    const [oldest] = this.#active;
    if (!oldest) return;
    this.#overdueTimer = this.#timers.at(oldest.startedAtMs + this.#limits.overdueAfterMs, () => {
      this.#overdueTimer = undefined;
      this.#startWaiting();
    });
  }
}
