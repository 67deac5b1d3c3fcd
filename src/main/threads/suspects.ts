/**
 * Finds the pods whose tasks may kill threads. A thread runs hundreds of tasks, so its death does not show which task caused it. A pod whose tasks
 * were in threads at two deaths becomes a suspect: its tasks run alone (quarantine-pool.ts) until one of them ends well. Pure.
 */
import type { PodUID } from '../../shared/kubernetes/ids.ts';

const maxDeaths = 2;

export class Suspects {
  /** The deaths since the last task of the pod that ended well. */
  readonly #deaths = new Map<PodUID, number>();

  /** Returns true when the pod has become a suspect. */
  recordDeath(uid: PodUID): boolean {
    const deaths = (this.#deaths.get(uid) ?? 0) + 1;
    this.#deaths.set(uid, deaths);
    return deaths === maxDeaths;
  }

  isSuspect(uid: PodUID): boolean {
    return (this.#deaths.get(uid) ?? 0) >= maxDeaths;
  }

  clear(uid: PodUID): void {
    this.#deaths.delete(uid);
  }
}
