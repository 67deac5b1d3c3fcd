/**
 * Decides whether an admitted pod fits with the resources that its spec asks for now, and ends less important pods for a critical one. Upstream:
 * canResizePod in pkg/kubelet/allocation/allocation_manager.go.
 */
import { reportFault } from '../../shared/faults/contain.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import type { ActivePods } from './active-pods.ts';
import type { AdmitHandler } from './admission/index.ts';
import { preemptPods, type PreemptionDependencies } from './preempt-pods.ts';

export interface ResizeAdmissionDependencies extends PreemptionDependencies {
  readonly activePods: Pick<ActivePods, 'list'>;
  /** Decides whether a pod fits with other resources. */
  readonly resizeFit: AdmitHandler;
}

export class ResizeAdmission {
  readonly #deps: ResizeAdmissionDependencies;
  /** Critical pods for which less important pods are ending, each with the refusal until those have ended. */
  readonly #waiting = new Map<PodUID, { readonly message: string }>();
  /**
   * The pods that were ended for each critical pod. They do not count when the critical pod is decided again, even those that did not end in time: a
   * critical pod does not wait for a pod that hangs.
   */
  readonly #preempted = new Map<PodUID, ReadonlySet<PodUID>>();

  constructor(dependencies: ResizeAdmissionDependencies) {
    this.#deps = dependencies;
  }

  /** Returns why the pod does not fit; null when it does. For a critical pod other pods end; `onFreed` is called then. */
  refusal(pod: Pod, onFreed: () => void): { readonly message: string } | null {
    const { activePods, resizeFit, logger } = this.#deps;
    const uid = podUID(pod);
    const waiting = this.#waiting.get(uid);
    if (waiting) return waiting;
    const preempted = this.#preempted.get(uid) ?? new Set<PodUID>();
    const others = activePods.list(true).filter((other) => podUID(other) !== uid && !preempted.has(podUID(other)));
    const result = resizeFit(pod, others);
    if (!result || 'rejection' in result) return result && { message: result.rejection.message };
    const { victims, resources } = result.preemption;
    const wait = { message: `Waiting for the end of ${victims.length} less important pods, which use ${resources.join(', ')}` };
    this.#waiting.set(uid, wait);
    void preemptPods(this.#deps, pod, result.preemption)
      .catch((err: unknown) => reportFault({ handler: 'resize', logger, fields: { podUID: uid } }, err))
      .finally(() => this.#decideAgain(uid, new Set([...preempted, ...victims.map(podUID)]), onFreed));
    return wait;
  }

  /** `onFreed` calls `refusal` synchronously, so `#preempted` is needed only during the call, unless the pod waits again. */
  #decideAgain(uid: PodUID, preempted: ReadonlySet<PodUID>, onFreed: () => void): void {
    this.#waiting.delete(uid);
    this.#preempted.set(uid, preempted);
    try {
      onFreed();
    } finally {
      if (!this.#waiting.has(uid)) this.#preempted.delete(uid);
    }
  }
}
