/** Waits until nothing is left of pods on this node. */
import type { PodUID } from '../../shared/kubernetes/ids.ts';

export class FinishWaits {
  readonly #waits = new Map<PodUID, { readonly promise: Promise<void>; readonly resolve: () => void }>();

  /** Resolves with the next `finished` of the pod. */
  until(uid: PodUID): Promise<void> {
    let wait = this.#waits.get(uid);
    if (!wait) this.#waits.set(uid, (wait = Promise.withResolvers<void>()));
    return wait.promise;
  }

  finished(uid: PodUID): void {
    this.#waits.get(uid)?.resolve();
    this.#waits.delete(uid);
  }
}
