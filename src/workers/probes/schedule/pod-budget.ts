/**
 * The time that the probes of each pod keep this thread busy. A server chooses what its TLS handshake costs (shared/dial/tls-connection.ts), and a pod may have
 * dozens of probes a second: the next ones of a pod that has spent more than its share wait. Runs whose cost is not known yet count with an estimate. Pure.
 */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';

/** The share of the thread's time that a pod's probes may use. */
const share = 0.05;
/** What a pod may spend at once, as when its containers start together. */
const burstMs = 500;
/** The estimate for a pod without a finished handshake: close to the costliest handshake. An ordinary one costs a millisecond. */
const firstEstimateMs = 40;
/** How fast the estimate follows cheaper handshakes. The estimate follows costlier ones at once, because a pod may have servers of both kinds. */
const decay = 0.8;
/** Above this number, the accounts of pods that have paid and have no runs are dropped. */
const maxPods = 1000;

interface Account {
  /** Monotonic ms at which the pod's share has paid for its spent time: t ms are paid for in t / `share` ms. */
  paidAtMs: number;
  /** What a running handshake is expected to cost, from those that have ended. Undefined: none has. */
  expectedMs: number | undefined;
  /** Runs with a handshake that have started and not ended. */
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

  /** A run with a handshake has ended. `spentMs` is its total. */
  end(uid: PodUID, spentMs: number): void {
    const account = this.#accountOf(uid);
    account.running -= 1;
    account.expectedMs = Math.max(spentMs, (account.expectedMs ?? 0) * decay);
  }

  /** Returns when the pod has paid enough for its next probe: it may owe up to `burstMs`. */
  startsAtMs(uid: PodUID): number {
    return (this.#accounts.get(uid)?.paidAtMs ?? 0) - burstMs / share;
  }

  /** False: the handshakes that run may spend all the time that the pod has left. Another may start when one of them ends. */
  leavesTime(uid: PodUID, nowMs: number): boolean {
    const account = this.#accounts.get(uid);
    if (!account || account.running === 0) return true;
    const spentMs = Math.max(0, account.paidAtMs - nowMs) * share;
    return spentMs + (account.running + 1) * (account.expectedMs ?? firstEstimateMs) <= burstMs;
  }

  #accountOf(uid: PodUID): Account {
    let account = this.#accounts.get(uid);
    if (!account) this.#accounts.set(uid, (account = { paidAtMs: 0, expectedMs: undefined, running: 0 }));
    return account;
  }
}
