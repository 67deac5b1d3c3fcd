/**
 * Notifies the parts of main that follow the lives of pods. Each part registers itself where it is created, and is notified in the order of registration.
 * The code that changes a pod's life (pod handlers, pod workers, housekeeping) knows none of these parts.
 */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import { contain } from '../../../shared/faults/contain.ts';
import type { Pod, PodStatus } from '../../../shared/kubernetes/api.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { AllocatedPod } from '../../allocation/index.ts';
import type { FailedPod } from '../termination/failed-pod.ts';

/**
 * The methods have two groups. An exception of a method from `admitted` to `resizeFailed` reaches the caller: the pod does not take its next step, and is
 * handled again after a back-off. An exception of any later method, a ContainedStage, is only logged.
 */
export interface PodLifecycleObserver {
  /** Names the observer in logs. */
  readonly name: string;

  /** The pod is admitted, or was admitted before this kubelet started. Its worker gets the pod next. */
  admitted?(pod: Pod): void;
  /** The worker of an admitted pod has got the pod for the first time. */
  added?(pod: Pod): void;
  /** A source has changed a pod that has a worker and does not end. The worker gets the new version next. */
  changed?(before: Pod | undefined, pod: Pod): void;
  /** The pod is not admitted, and never runs on this node. */
  rejected?(pod: Pod, why: FailedPod): void;
  /** A sync of the pod has read this runtime status: before the sync generates the API status, and again after it has changed the runtime. */
  observed?(pod: AllocatedPod, status: RuntimePodStatus | null): void;
  /** A sync of the pod begins, and has generated this status. May end the pod. */
  syncing?(pod: AllocatedPod, status: PodStatus): void;
  /** A sync could not bring the pod's resources into force. */
  resizeFailed?(pod: AllocatedPod, message: string): void;

  // The contained stages.
  /** Only the runtime knows the pod. It terminates next. */
  foundInRuntime?(status: RuntimePodStatus): void;
  /** The pod terminates, or its grace period has changed. Null: an unknown grace period. */
  terminating?(uid: PodUID, gracePeriodSeconds: number | null): void;
  /** The pod ends, and no container of it runs any more: what it requested is free. */
  containersEnded?(uid: PodUID): void;
  /** The pod has ended, and its sandboxes too. `containersEnded` may not have been called. */
  terminated?(uid: PodUID): void;
  /** Nothing of the pod is left on this node. */
  finished?(uid: PodUID): void;
  /** Nothing is left of this UID: a pod with the same UID may start. */
  forgotten?(uid: PodUID): void;
  /** A source does not have these pods any more. Called after the pod handlers have handled the removal. */
  removed?(uids: readonly PodUID[]): void;
  /** The pod handlers have handled an update of a source: other pods may be wanted, or the same pods with other specs. */
  updateHandled?(): void;
  /** These are all pods that a source wants or that have a worker: what is kept for others may go. Called with each round of housekeeping. */
  keepOnly?(known: ReadonlySet<PodUID>): void;
}

/** The second group of methods: an exception is logged, and the other observers are notified nevertheless. */
type ContainedStage =
  | 'foundInRuntime'
  | 'terminating'
  | 'containersEnded'
  | 'terminated'
  | 'finished'
  | 'forgotten'
  | 'removed'
  | 'updateHandled'
  | 'keepOnly';

export class PodLifecycleObservers {
  readonly #observers: PodLifecycleObserver[] = [];
  readonly #logger: Logger;

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  register(observer: PodLifecycleObserver): void {
    this.#observers.push(observer);
  }

  admitted(pod: Pod): void {
    for (const observer of this.#observers) observer.admitted?.(pod);
  }

  added(pod: Pod): void {
    for (const observer of this.#observers) observer.added?.(pod);
  }

  changed(before: Pod | undefined, pod: Pod): void {
    for (const observer of this.#observers) observer.changed?.(before, pod);
  }

  rejected(pod: Pod, why: FailedPod): void {
    for (const observer of this.#observers) observer.rejected?.(pod, why);
  }

  observed(pod: AllocatedPod, status: RuntimePodStatus | null): void {
    for (const observer of this.#observers) observer.observed?.(pod, status);
  }

  syncing(pod: AllocatedPod, status: PodStatus): void {
    for (const observer of this.#observers) observer.syncing?.(pod, status);
  }

  resizeFailed(pod: AllocatedPod, message: string): void {
    for (const observer of this.#observers) observer.resizeFailed?.(pod, message);
  }

  foundInRuntime(status: RuntimePodStatus): void {
    this.#notify('foundInRuntime', status.podUID, (observer) => observer.foundInRuntime?.(status));
  }

  terminating(uid: PodUID, gracePeriodSeconds: number | null): void {
    this.#notify('terminating', uid, (observer) => observer.terminating?.(uid, gracePeriodSeconds));
  }

  containersEnded(uid: PodUID): void {
    this.#notify('containersEnded', uid, (observer) => observer.containersEnded?.(uid));
  }

  terminated(uid: PodUID): void {
    this.#notify('terminated', uid, (observer) => observer.terminated?.(uid));
  }

  finished(uid: PodUID): void {
    this.#notify('finished', uid, (observer) => observer.finished?.(uid));
  }

  forgotten(uid: PodUID): void {
    this.#notify('forgotten', uid, (observer) => observer.forgotten?.(uid));
  }

  removed(uids: readonly PodUID[]): void {
    this.#notify('removed', undefined, (observer) => observer.removed?.(uids));
  }

  updateHandled(): void {
    this.#notify('updateHandled', undefined, (observer) => observer.updateHandled?.());
  }

  keepOnly(known: ReadonlySet<PodUID>): void {
    this.#notify('keepOnly', undefined, (observer) => observer.keepOnly?.(known));
  }

  /** A fault of one observer must not keep the others from the end of a pod. */
  #notify(stage: ContainedStage, podUID: PodUID | undefined, call: (observer: PodLifecycleObserver) => void): void {
    for (const observer of this.#observers)
      contain({ handler: `pod ${stage}`, logger: this.#logger, fields: { observer: observer.name, podUID } }, () => call(observer));
  }
}
