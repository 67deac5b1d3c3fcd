/**
 * The time that the probes of each pod keep this thread busy. A server chooses what its TLS handshake costs (shared/dial/tls-connection.ts), and a pod may have
 * dozens of probes a second: the next ones of a pod that has spent more than its share wait. Runs whose cost is not known yet count with an estimate. Pure.
 */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';

/** Of the thread's time. */
const share = 0.05;
/** What a pod may spend at once, as when its containers start together. */
const burstMs = 500;
/** Of a pod whose handshakes are not known yet: close to the costliest one. An ordinary handshake costs a millisecond. */
const firstEstimateMs = 40;
/** How fast the estimate follows cheaper handshakes. It follows costlier ones at once, because a pod may have servers of both kinds. */
const decay = 0.8;
/** More are forgotten when they have paid. */
const maxPods = 1000;

interface Account {
  /** When the pod's share has paid for what it has spent. */
  paidAtMs: number;
  estimateMs: number;
  isEstimated: boolean;
  /** Runs that have started and not ended. */
  running: number;
}

export class PodBudget {
  readonly #accounts = new Map<PodUID, Account>();

  charge(uid: PodUID, spentMs: number, nowMs: number): void {
    const account = this.#accountOf(uid);
    account.paidAtMs = Math.max(account.paidAtMs, nowMs) + spentMs / share;
    if (this.#accounts.size > maxPods)
      for (const [other, { paidAtMs, running }] of this.#accounts) if (paidAtMs <= nowMs && running === 0) this.#accounts.delete(other);
  }

  /** A run with a handshake starts. */
  begin(uid: PodUID): void {
    this.#accountOf(uid).running += 1;
  }

  /** Such a run has ended, and has spent this in all. */
  end(uid: PodUID, spentMs: number): void {
    const account = this.#accountOf(uid);
    account.running -= 1;
    account.estimateMs = account.isEstimated ? spentMs : Math.max(spentMs, account.estimateMs * decay);
    account.isEstimated = false;
  }

  /** When the pod has paid enough for its next probe. */
  startsAtMs(uid: PodUID): number {
    return (this.#accounts.get(uid)?.paidAtMs ?? 0) - burstMs / share;
  }

  /** False: the runs that have started may spend all that the pod has left. One more may start when one of them ends. */
  leavesTime(uid: PodUID, nowMs: number): boolean {
    const account = this.#accounts.get(uid);
    if (!account || account.running === 0) return true;
    const spentMs = Math.max(0, account.paidAtMs - nowMs) * share;
    return spentMs + (account.running + 1) * account.estimateMs <= burstMs;
  }

  #accountOf(uid: PodUID): Account {
    let account = this.#accounts.get(uid);
    if (!account) this.#accounts.set(uid, (account = { paidAtMs: 0, estimateMs: firstEstimateMs, isEstimated: true, running: 0 }));
    return account;
  }
}
