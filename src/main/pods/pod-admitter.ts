/**
 * Admits a pod to the node or rejects it: the admit handlers check the pod, then its exclusive resources, such as devices, are allocated. A pod whose
 * admission takes time is pending: the Node is fetched again before a rejection for the node's labels, less important pods end for a critical pod, or
 * allocations become durable. Upstream: AddPod in pkg/kubelet/allocation/allocation_manager.go, and pkg/kubelet/preemption.
 */
import { contain, reportFault } from '../../shared/faults/contain.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import { qosClass } from '../../shared/kubernetes/qos-class.ts';
import { podLevelResourcesAdmissions } from '../../shared/metrics/definitions/pods.ts';
import { podReference } from '../events/index.ts';
import type { ActivePods } from './active-pods.ts';
import type { AllocatedPod, AllocationRefusal, ExclusiveAllocations } from '../allocation/index.ts';
import { isCriticalPod } from '../../shared/kubernetes/critical-pod.ts';
import { countRejection, type AdmitHandler, type AdmitResult } from './admission/index.ts';
import { preemptPods, type PreemptionDependencies } from './preempt-pods.ts';
import { resourceConfigMode } from './admission/resource-config-mode.ts';
import type { PodLifecycleObservers } from './lifecycle/pod-lifecycle-observers.ts';
import type { FailedPod } from './termination/failed-pod.ts';
import type { WaitKind } from '../../shared/contracts/timeline.ts';
import type { PodTimelines } from '../timeline/index.ts';
import { faultMessage, type PodFaults } from './workers/index.ts';

export interface PodAdmitterDependencies extends PreemptionDependencies {
  readonly activePods: Pick<ActivePods, 'list' | 'listStoppingSandboxes'>;
  readonly admitHandlers: readonly AdmitHandler[];
  readonly exclusiveAllocations: Pick<ExclusiveAllocations, 'isNeededBy' | 'allocate'>;
  /** Fetches the Node before a pod is rejected for the node's labels. Null without an API server. Must settle. */
  readonly refreshNode: (() => Promise<unknown>) | null;
  readonly faults: PodFaults;
  readonly observers: Pick<PodLifecycleObservers, 'rejected'>;
  readonly timelines: PodTimelines;
}

export interface AdmissionAttempt {
  readonly mayRefreshNode: boolean;
  /** Pods that were ended for this pod. They do not count, even when they do not end in time: a critical pod does not wait for a pod that hangs. */
  readonly preempted: ReadonlySet<PodUID>;
  /** The result for the pod's exclusive resources. Present once the handlers have admitted the pod. */
  readonly allocation?: { readonly refusal: AllocationRefusal | null };
}

/** Why the admission of a pod is pending, and the name of this wait in the pod's timeline. */
const waitKindOf = {
  refreshingNode: 'Node',
  preempting: 'Preemption',
  allocating: 'Allocation',
} as const satisfies Record<string, WaitKind>;
type PendingReason = keyof typeof waitKindOf;

export const firstAttempt: AdmissionAttempt = { mayRefreshNode: true, preempted: new Set() };

export class PodAdmitter {
  readonly #deps: PodAdmitterDependencies;
  readonly #onRetry: (uid: PodUID, nextAttempt: AdmissionAttempt) => void;
  readonly #pending = new Map<PodUID, PendingReason>();

  /** `onRetry` is called when the wait of a pending pod is over: the caller calls `admit` again with that attempt. */
  constructor(dependencies: PodAdmitterDependencies, onRetry: (uid: PodUID, nextAttempt: AdmissionAttempt) => void) {
    this.#deps = dependencies;
    this.#onRetry = onRetry;
  }

  isPending(uid: PodUID): boolean {
    return this.#pending.has(uid);
  }

  /** Returns whether the pod is admitted. If not, the pod was rejected or is pending. */
  admit(pod: Pod, attempt: AdmissionAttempt): boolean {
    const { refreshNode, exclusiveAllocations, timelines } = this.#deps;
    const uid = podUID(pod);
    const { mayRefreshNode, preempted, allocation } = attempt;
    timelines.beginUnlessOpen(uid, 'Admission');
    const result = allocation ? resultOf(allocation) : this.#computeResult(pod, preempted);
    if (result === null) {
      if (allocation || !exclusiveAllocations.isNeededBy(pod)) return this.#commit(pod);
      this.#allocate(pod, attempt);
    } else if ('preemption' in result) {
      const nextAttempt = { mayRefreshNode: false, preempted: new Set([...preempted, ...result.preemption.victims.map(podUID)]) };
      this.#retryAfter(uid, 'preempting', preemptPods(this.#deps, pod, result.preemption), nextAttempt);
    } else if (refreshNode && mayRefreshNode && result.rejection.mayBeStaleNode) {
      this.#retryAfter(uid, 'refreshingNode', refreshNode(), { mayRefreshNode: false, preempted });
    } else {
      this.#reject(pod, result.rejection);
    }
    return false;
  }

  #commit(pod: Pod): true {
    this.#deps.timelines.end(podUID(pod), 'Admission');
    podLevelResourcesAdmissions.inc({ config_mode: resourceConfigMode(pod), qos_class: qosClass(pod).toLowerCase() });
    return true;
  }

  /** Allocates the exclusive resources. Meanwhile the pod's requests count against the admission of other pods. */
  #allocate(pod: Pod, attempt: AdmissionAttempt): void {
    const uid = podUID(pod);
    const allocated = this.#deps.exclusiveAllocations.allocate(pod).then((refusal) => ({ ...attempt, allocation: { refusal } }));
    this.#decideLater(uid, 'allocating', allocated);
  }

  #retryAfter(uid: PodUID, reason: PendingReason, work: Promise<unknown>, nextAttempt: AdmissionAttempt): void {
    const report = (err: unknown) => reportFault({ handler: 'admission', logger: this.#deps.logger, fields: { podUID: uid } }, err);
    this.#decideLater(
      uid,
      reason,
      work.catch(report).then(() => nextAttempt),
    );
  }

  /** `nextAttempt` must not reject. */
  #decideLater(uid: PodUID, reason: PendingReason, nextAttempt: Promise<AdmissionAttempt>): void {
    this.#pending.set(uid, reason);
    const endWait = this.#deps.timelines.wait(uid, 'Admission', waitKindOf[reason]);
    void nextAttempt.then((attempt) => {
      endWait();
      this.#pending.delete(uid);
      this.#onRetry(uid, attempt);
    });
  }

  #reject(pod: Pod, { reason, message }: FailedPod): void {
    const { events, observers } = this.#deps;
    events.record({ object: podReference(pod), type: 'Warning', reason, message });
    observers.rejected(pod, { reason, message });
    countRejection(reason);
  }

  #computeResult(pod: Pod, preempted: ReadonlySet<PodUID>): AdmitResult {
    const { admitHandlers } = this.#deps;
    if (admitHandlers.length === 0) return null;
    // The handlers have admitted a pod that allocates. Any other pending pod counts only while it preempts, and never against a critical pod: a pending pod
    // has nothing that its preemption could free.
    const counts = (uid: PodUID) => {
      const pending = this.#pending.get(uid);
      return pending === undefined || pending === 'allocating' || (pending === 'preempting' && !isCriticalPod(pod));
    };
    const isOther = (uid: PodUID) => uid !== podUID(pod) && !preempted.has(uid) && counts(uid);
    const others = this.#deps.activePods.list().filter((other) => isOther(podUID(other)));
    try {
      return this.#runHandlers(
        pod,
        others,
        this.#deps.activePods.listStoppingSandboxes().filter((other) => podUID(other) !== podUID(pod)),
      );
    } catch (err) {
      return this.#resultAfterFault(pod, others, err);
    }
  }

  #runHandlers(pod: Pod, others: readonly AllocatedPod[], stopping: readonly Pod[] = []): AdmitResult {
    for (const admit of this.#deps.admitHandlers) {
      const result = admit(pod, others, stopping);
      if (result) return result;
    }
    return null;
  }

  /** Ignores every other pod that makes a handler throw, so that only its own faults reject a pod. */
  #resultAfterFault(pod: Pod, others: readonly AllocatedPod[], fault: unknown): AdmitResult {
    const healthyOthers = others.filter((other) =>
      contain({ handler: 'admission', logger: this.#deps.logger }, () => (this.#runHandlers(pod, [other]), true)),
    );
    try {
      if (healthyOthers.length < others.length) return this.#runHandlers(pod, healthyOthers);
    } catch {
      // This pod makes the handler throw.
    }
    this.#deps.faults.report('admission', pod, fault);
    return { rejection: { reason: 'UnexpectedAdmissionError', message: faultMessage('admission', fault) } };
  }
}

function resultOf({ refusal }: NonNullable<AdmissionAttempt['allocation']>): AdmitResult {
  return refusal && { rejection: refusal };
}
