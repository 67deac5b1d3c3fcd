/**
 * Runs static pods of the same full name one after the other, in the order of arrival: a changed manifest is a new UID with the same name,
 * and waits until its predecessor has terminated. Upstream: startedStaticPodsByFullname and
 * waitingToStartStaticPodsByFullname in pkg/kubelet/pod_workers.go.
 */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';

export class StaticPodOrder {
  /** The UID that owns each full name. */
  readonly #started = new Map<string, PodUID>();
  /** The UIDs that wait for each full name, in the order of arrival. */
  readonly #waiting = new Map<string, Set<PodUID>>();

  enqueue(fullName: string, uid: PodUID): void {
    const waiting = this.#waiting.get(fullName) ?? new Set();
    this.#waiting.set(fullName, waiting.add(uid));
  }

  /** Returns true when this UID may start. It then owns the name until `release`. */
  tryStart(fullName: string, uid: PodUID): boolean {
    const started = this.#started.get(fullName);
    if (started !== undefined) return started === uid;
    const [next = uid] = this.#waiting.get(fullName) ?? [];
    if (next !== uid) return false;
    this.#dequeue(fullName, uid);
    this.#started.set(fullName, uid);
    return true;
  }

  /** Called when the UID has terminated or will never start. Returns the UID that may start next. */
  release(fullName: string, uid: PodUID): PodUID | null {
    this.#dequeue(fullName, uid);
    if (this.#started.get(fullName) === uid) this.#started.delete(fullName);
    if (this.#started.has(fullName)) return null;
    const [next = null] = this.#waiting.get(fullName) ?? [];
    return next;
  }

  #dequeue(fullName: string, uid: PodUID): void {
    const waiting = this.#waiting.get(fullName);
    waiting?.delete(uid);
    if (waiting?.size === 0) this.#waiting.delete(fullName);
  }
}
