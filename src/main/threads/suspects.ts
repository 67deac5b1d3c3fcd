/**
 * The pods whose tasks may have ended their threads. The task that does is not known, since a thread runs hundreds; a pod whose task was in a thread at two
 * deaths runs alone from then on, until a task of it ends well. Pure.
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
