/**
 * The time that the probes of each pod keep this thread busy. A server chooses what its TLS handshake costs (shared/dial/tls-connection.ts), and a pod may have
 * dozens of probes a second: the next ones of a pod that has spent more than its share wait. Pure.
 */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';

/** Of the thread's time. An ordinary handshake costs a millisecond. */
const share = 0.05;
/** What a pod may spend at once, as when its containers start together. */
const burstMs = 500;
/** More are forgotten when they have paid. */
const maxPods = 1000;

export class PodBudget {
  /** When the pod's share has paid for what it has spent. */
  readonly #paidAtMs = new Map<PodUID, number>();

  charge(uid: PodUID, spentMs: number, nowMs: number): void {
    const paidAtMs = Math.max(this.#paidAtMs.get(uid) ?? 0, nowMs) + spentMs / share;
    this.#paidAtMs.set(uid, paidAtMs);
    if (this.#paidAtMs.size > maxPods)
      for (const [other, otherPaidAtMs] of this.#paidAtMs) if (otherPaidAtMs <= nowMs) this.#paidAtMs.delete(other);
  }

  /** When the next probe of the pod may start. */
  startsAtMs(uid: PodUID): number {
    return (this.#paidAtMs.get(uid) ?? 0) - burstMs / share;
  }
}
