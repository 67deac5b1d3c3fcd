/**
 * The pods that the sources want, by UID and by full name: the desired state. Pod workers know what runs. Mirror pods are stored separately: they
 * never run, and refer to their static pod by name. Upstream: pkg/kubelet/pod/pod_manager.go.
 */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podFullName, podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { isMirrorPod, isStaticPod } from '../../shared/kubernetes/static-pod.ts';
import { Listeners } from '../../shared/concurrency/listeners.ts';

/** Called after a pod or a mirror pod was set or removed. */
export type PodListener = (pod: Pod, change: 'set' | 'removed') => void;

export class PodManager {
  readonly #pods = new PodIndex();
  readonly #mirrors = new PodIndex();
  readonly #listeners = new Listeners<Parameters<PodListener>>();

  onChange(listener: PodListener): () => void {
    return this.#listeners.add(listener);
  }

  /** Adds the pod, or replaces the one with its UID. */
  set(pod: Pod): void {
    (isMirrorPod(pod) ? this.#mirrors : this.#pods).set(pod);
    this.#listeners.notify(pod, 'set');
  }

  remove(uid: PodUID): void {
    const pod = this.#pods.remove(uid) ?? this.#mirrors.remove(uid);
    if (pod) this.#listeners.notify(pod, 'removed');
  }

  /** Never a mirror pod. */
  get(uid: PodUID): Pod | undefined {
    return this.#pods.get(uid);
  }

  /** Never a mirror pod. */
  getByFullName(fullName: string): Pod | undefined {
    return this.#pods.getByFullName(fullName);
  }

  /** Returns all pods but mirror pods, in the order in which they were added. */
  all(): Pod[] {
    return this.#pods.all();
  }

  /** Without the UIDs of mirror pods. */
  uids(): ReadonlySet<PodUID> {
    return new Set(this.#pods.uids());
  }

  mirrorPods(): Pod[] {
    return this.#mirrors.all();
  }

  getMirrorByFullName(fullName: string): Pod | undefined {
    return this.#mirrors.getByFullName(fullName);
  }

  /** Returns the mirror pod with the name of the static pod, also of another version of its manifest; undefined for other pods. */
  mirrorOf(pod: Pod): Pod | undefined {
    return isStaticPod(pod) ? this.getMirrorByFullName(podFullName(pod)) : undefined;
  }

  /** Converts the UID of a mirror pod to the UID of its static pod; returns any other UID unchanged. Upstream: TranslatePodUID. */
  translatePodUID(uid: PodUID): PodUID {
    const mirror = this.#mirrors.get(uid);
    const pod = mirror && this.getByFullName(podFullName(mirror));
    return pod ? podUID(pod) : uid;
  }
}

/** Pods by UID and by full name. */
class PodIndex {
  readonly #byUID = new Map<PodUID, Pod>();
  readonly #uidByFullName = new Map<string, PodUID>();

  set(pod: Pod): void {
    const uid = podUID(pod);
    this.#byUID.set(uid, pod);
    this.#uidByFullName.set(podFullName(pod), uid);
  }

  remove(uid: PodUID): Pod | undefined {
    const pod = this.#byUID.get(uid);
    if (!pod) return undefined;
    this.#byUID.delete(uid);
    // A recreated pod already has the name, with a new UID.
    const fullName = podFullName(pod);
    if (this.#uidByFullName.get(fullName) !== uid) return pod;
    this.#uidByFullName.delete(fullName);
    // Two pods may have the same full name, as a static pod and a pod of the API server: the other pod gets its name back.
    for (const other of this.#byUID.values()) if (podFullName(other) === fullName) this.#uidByFullName.set(fullName, podUID(other));
    return pod;
  }

  get(uid: PodUID): Pod | undefined {
    return this.#byUID.get(uid);
  }

  getByFullName(fullName: string): Pod | undefined {
    const uid = this.#uidByFullName.get(fullName);
    return uid === undefined ? undefined : this.#byUID.get(uid);
  }

  all(): Pod[] {
    return [...this.#byUID.values()];
  }

  uids(): IterableIterator<PodUID> {
    return this.#byUID.keys();
  }
}
