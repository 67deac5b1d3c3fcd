/**
 * The pods that the sources want, by UID and by full name: the desired state, and nothing about what runs (pod-workers.ts knows
 * that). Upstream: pkg/kubelet/pod/pod_manager.go. Mirror pods (a static pod's image in the API server) will be told apart here.
 */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podFullName, podUID, type PodUID } from '../../shared/kubernetes/ids.ts';

export class PodManager {
  readonly #byUID = new Map<PodUID, Pod>();
  readonly #uidByFullName = new Map<string, PodUID>();

  /** Adds the pod, or replaces the one with its UID. */
  set(pod: Pod): void {
    const uid = podUID(pod);
    this.#byUID.set(uid, pod);
    this.#uidByFullName.set(podFullName(pod), uid);
  }

  remove(uid: PodUID): void {
    const pod = this.#byUID.get(uid);
    if (!pod) return;
    this.#byUID.delete(uid);
    // A static pod that changed has a new UID under the same name by now: that one stays.
    const fullName = podFullName(pod);
    if (this.#uidByFullName.get(fullName) === uid) this.#uidByFullName.delete(fullName);
  }

  get(uid: PodUID): Pod | undefined {
    return this.#byUID.get(uid);
  }

  getByFullName(fullName: string): Pod | undefined {
    const uid = this.#uidByFullName.get(fullName);
    return uid === undefined ? undefined : this.#byUID.get(uid);
  }

  /** In the order in which they came. */
  all(): Pod[] {
    return [...this.#byUID.values()];
  }

  uids(): ReadonlySet<PodUID> {
    return new Set(this.#byUID.keys());
  }
}
