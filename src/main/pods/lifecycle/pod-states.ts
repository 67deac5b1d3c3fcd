/**
 * Knows the lifecycle state of each pod that has a worker, whether a source wants the pod or not. Only the pod workers write; PodStates is created before
 * all parts that read. Upstream: the queries of pkg/kubelet/pod_workers.go.
 */
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { AllocatedPod } from '../../allocation/index.ts';
import { haveContainersEnded, type PodLifecycle } from './pod-lifecycle.ts';

export interface PodWithWorker {
  readonly uid: PodUID;
  /** `<name>_<namespace>`. */
  readonly fullName: string;
  readonly isStatic: boolean;
  /** The newest spec; null when only the runtime knows the pod. */
  readonly pod: AllocatedPod | null;
  readonly lifecycle: PodLifecycle;
  /** Settles when the sync in progress has ended and its status was computed; undefined when none is in progress. */
  readonly syncInProgress: Promise<unknown> | undefined;
}

export class PodStates {
  readonly #pods = new Map<PodUID, PodWithWorker>();
  readonly #sourcesReady: () => boolean;

  /** `sourcesReady` returns whether every source has reported its pods. */
  constructor(sourcesReady: () => boolean) {
    this.#sourcesReady = sourcesReady;
  }

  /** The pod has a worker from now on. Each query reads the fields of `pod` again. */
  add(pod: PodWithWorker): void {
    this.#pods.set(pod.uid, pod);
  }

  remove(uid: PodUID): void {
    this.#pods.delete(uid);
  }

  isKnown(uid: PodUID): boolean {
    return this.#pods.has(uid);
  }

  uids(): PodUID[] {
    return [...this.#pods.keys()];
  }

  /** Whether the pod is terminating or terminated; false for an unknown pod. */
  isTerminationRequested(uid: PodUID): boolean {
    const state = this.#pods.get(uid)?.lifecycle.state;
    return state !== undefined && state !== 'syncing';
  }

  /** Whether no container of the pod runs or will run again. Its resources are free, and its final status may be published. */
  haveContainersEnded(uid: PodUID): boolean {
    const lifecycle = this.#pods.get(uid)?.lifecycle;
    return lifecycle !== undefined && haveContainersEnded(lifecycle);
  }

  /** Whether the pod's containers have ended, and its sandboxes may still hold its network and its host ports. */
  isStoppingSandboxes(uid: PodUID): boolean {
    const lifecycle = this.#pods.get(uid)?.lifecycle;
    return lifecycle?.state === 'terminating' && lifecycle.containersEnded === true;
  }

  /**
   * Whether a static pod of this name has not finished, except for the wanted pod while it syncs. Upstream: startedStaticPodsByFullname
   * and IsPodForMirrorPodTerminatingByFullName.
   */
  isStaticPodEnding(fullName: string, desiredUID: PodUID | undefined): boolean {
    return this.#pods.values().some(({ uid, isStatic, fullName: name, lifecycle }) => {
      if (!isStatic || name !== fullName) return false;
      return lifecycle.state === 'terminated' ? !lifecycle.finished : lifecycle.state === 'terminating' || uid !== desiredUID;
    });
  }

  /**
   * Whether the containers and logs of the pod may be removed: the pod was evicted, or is deleted and has terminated. An unknown pod may belong to a source
   * that has not reported yet, as after a start without the API server. Upstream: ShouldPodContentBeRemoved. Unlike upstream, a pod that is recreated with
   * the same UID keeps its containers and logs: the new pod may write to the log directory before a removal that is requested now.
   */
  shouldContentBeRemoved(uid: PodUID): boolean {
    const lifecycle = this.#pods.get(uid)?.lifecycle;
    if (!lifecycle) return this.#sourcesReady();
    if (lifecycle.state === 'syncing' || lifecycle.restartRequested) return false;
    return lifecycle.evicted || (lifecycle.deleted && lifecycle.state === 'terminated');
  }

  /** Whether the containers of the pod may be removed, but not its logs. Upstream: ShouldPodRuntimeBeRemoved. */
  shouldRuntimeBeRemoved(uid: PodUID): boolean {
    const lifecycle = this.#pods.get(uid)?.lifecycle;
    return !lifecycle || (lifecycle.state === 'terminated' && !lifecycle.restartRequested);
  }

  /** Whether nothing of the pod is left to end or to clean up. Upstream: ShouldPodBeFinished. */
  isFinished(uid: PodUID): boolean {
    const lifecycle = this.#pods.get(uid)?.lifecycle;
    return !lifecycle || (lifecycle.state === 'terminated' && lifecycle.finished);
  }

  /** Settles when the pod's sync in progress has ended and its status was computed; undefined when none is in progress. */
  syncInProgress(uid: PodUID): Promise<unknown> | undefined {
    return this.#pods.get(uid)?.syncInProgress;
  }
}
