/**
 * What the sources say, handed on to the pod manager (what is wanted), through admission, to the pod workers (what runs). Upstream:
 * HandlePodAdditions, HandlePodUpdates, HandlePodRemoves and HandlePodReconcile in pkg/kubelet/kubelet.go.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { contain, reportFault } from '../../shared/errors/contain.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import type { Logger } from '../../shared/log/logger.ts';
import { infeasibleResizes, preemptions } from '../../shared/metrics/definitions/pods.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { PodUpdate } from '../sources/index.ts';
import {
  countRejection,
  isCriticalPod,
  type AllocationManager,
  type AdmitHandler,
  type Preemption,
  type AdmitResult,
} from './admission/index.ts';
import { isTerminalPhase } from './api-status/phase.ts';
import { podReference, type EventSink } from '../events/event-sink.ts';
import { yieldToEventLoop } from '../../shared/concurrency/yield-to-event-loop.ts';
import { isDeleted } from './termination/is-deleted.ts';
import { isMirrorPod } from './static/mirror-pod.ts';
import { isAlreadyReported, computePendingResize, resizeEventMessage } from './admission/pending-resize.ts';
import { faultMessage, type PodFaults } from './workers/pod-faults.ts';
import type { PodManager } from './pod-manager.ts';
import type { FailedPod, ApiStatusCache } from './api-status/api-status-cache.ts';
import type { PodWorkers } from './workers/pod-workers.ts';

export interface PodHandlersDependencies {
  readonly podManager: PodManager;
  readonly podWorkers: PodWorkers;
  readonly statuses: ApiStatusCache;
  readonly events: EventSink;
  readonly admitHandlers: readonly AdmitHandler[];
  /** Why the node can't follow a change of a pod; it is only told. */
  readonly missingFeaturesForUpdate?: (before: Pod, after: Pod) => string | null;
  /** Pods that were admitted once are not asked again, also not after a restart. */
  readonly allocationManager: Pick<AllocationManager, 'isAdmitted' | 'setAllocatedResources' | 'updatePodFromAllocation' | 'removePod'>;
  /** Reads the Node afresh before a pod is refused for its labels. Null: there is no API server to ask. Must settle. */
  readonly refreshNode: (() => Promise<unknown>) | null;
  /** The pod runs from now on, or is worked towards with a changed spec: before its worker hears of it. */
  readonly onAdmitted?: (pod: Pod) => void;
  /** Has the exceptions that one pod causes. */
  readonly faults: PodFaults;
  readonly sourcesReady: () => boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Logger;
}

/** A hundred pods take 40 ms: what else main has to do comes in between. */
const longestTurnMs = 5;
/** As many were merged in the round that brings them, which is then long enough: at a start, 8 ms for a hundred. */
const mergedInARound = 50;

/** What a pod's admission may still do, and what it has done. */
interface Attempt {
  readonly mayRefreshNode: boolean;
  /** Pods that were ended for this one. Their room is its own, also of one that does not end in time: a critical pod waits for no hang. */
  readonly gaveWay: ReadonlySet<PodUID>;
}

export class PodHandlers {
  readonly #deps: PodHandlersDependencies;
  /** Pods whose admission waits for the newest Node, or for others to end: the room that those leave is theirs. */
  readonly #undecided = new Map<PodUID, 'looksAgain' | 'makesRoom'>();

  constructor(dependencies: PodHandlersDependencies) {
    this.#deps = dependencies;
  }

  /** Of many pods it takes several turns of the thread's loop; the next update may not begin before. */
  handle({ op, source, pods }: PodUpdate): void | Promise<void> {
    const names = pods.map(({ metadata: { namespace, name } }) => `${namespace}/${name}`);
    this.#deps.logger[op === 'RECONCILE' ? 'debug' : 'info']({ op, source, pods: names }, 'SyncLoop update');
    switch (op) {
      case 'ADD':
        return this.add(pods);
      // A graceful deletion is an update with a deletion time.
      case 'UPDATE':
      case 'DELETE':
        return this.update(pods);
      case 'REMOVE':
        return this.remove(pods);
      case 'RECONCILE':
        return this.reconcile(pods);
      default:
        op satisfies never;
    }
  }

  /** One after the other, oldest first; at a start they are all that the node has. */
  async add(pods: readonly Pod[]): Promise<void> {
    const { podManager, clock } = this.#deps;
    if (pods.length >= mergedInARound) await yieldToEventLoop();
    let turnBeganAtMs = clock.monotonic();
    for (const pod of pods.toSorted(byCreation)) {
      this.#contain('adding the pod', pod, () => podManager.set(pod));
      // A mirror pod is never run: whoever looks after it listens to the pod manager.
      if (!isMirrorPod(pod)) this.start(pod);
      if (clock.monotonic() - turnBeganAtMs < longestTurnMs) continue;
      await nextTurn();
      turnBeganAtMs = clock.monotonic();
    }
  }

  /** Of a pod that is wanted: admits it, unless it is ending already or was admitted before, and hands it to its worker. */
  start(pod: Pod): void {
    const uid = podUID(pod);
    if (this.#undecided.has(uid) || this.#deps.faults.isBackedOff(uid)) return;
    this.#contain('starting the pod', pod, () => this.#start(pod, { mayRefreshNode: true, gaveWay: new Set() }));
  }

  /** What the pod causes is its own: the others go on. It is handled again after a back-off, as it is wanted then. */
  #contain(handler: string, pod: Pod, work: () => void): void {
    const uid = podUID(pod);
    this.#deps.faults.contain(handler, pod, work, () => {
      const newest = this.#deps.podManager.get(uid);
      if (!newest) return this.#deps.faults.forget(uid);
      if (this.#deps.podWorkers.isKnown(uid)) this.update([newest]);
      else this.start(newest);
    });
  }

  #start(pod: Pod, { mayRefreshNode, gaveWay }: Attempt): void {
    const { podWorkers, allocationManager, refreshNode } = this.#deps;
    const uid = podUID(pod);
    const isEnding = podWorkers.isTerminationRequested(uid) || isDeleted(pod) || isTerminalPhase(pod.status?.phase);
    if (!isEnding && !allocationManager.isAdmitted(uid)) {
      const verdict = this.#verdict(pod, gaveWay);
      if (verdict && 'preemption' in verdict) {
        const next = { mayRefreshNode: false, gaveWay: new Set([...gaveWay, ...verdict.preemption.victims.map(podUID)]) };
        return this.#decideAfter(uid, 'makesRoom', this.#preempt(pod, verdict.preemption), next);
      }
      if (verdict && refreshNode && mayRefreshNode && verdict.rejection.mayBeStaleNode) {
        return this.#decideAfter(uid, 'looksAgain', refreshNode(), { mayRefreshNode: false, gaveWay });
      }
      if (verdict) return this.#reject(pod, verdict.rejection);
    }
    if (!isEnding) {
      allocationManager.setAllocatedResources(pod);
      this.#deps.onAdmitted?.(pod);
    }
    podWorkers.update(this.#allocated(pod), 'create');
  }

  /** The pod with the resources that it was admitted with. That it asks for others is told, once. */
  #allocated(pod: Pod): Pod {
    const { allocationManager, statuses, events } = this.#deps;
    const allocated = allocationManager.updatePodFromAllocation(pod);
    const pending = computePendingResize(pod, allocated);
    const isNews = statuses.setPendingResize(podUID(pod), pending);
    if (pending && isNews && !isAlreadyReported(pod, pending)) {
      infeasibleResizes.inc({ reason_detail: 'not_supported' });
      events.record({ object: podReference(pod), type: 'Warning', reason: 'ResizeInfeasible', message: resizeEventMessage(pod, pending) });
    }
    return allocated;
  }

  /** Asks again when what may change the answer is over, of the pod as it is wanted then. */
  #decideAfter(uid: PodUID, why: 'looksAgain' | 'makesRoom', over: Promise<unknown>, next: Attempt): void {
    this.#undecided.set(uid, why);
    void over
      .catch((err: unknown) => reportFault({ handler: 'admission', logger: this.#deps.logger, fields: { podUID: uid } }, err))
      .finally(() => {
        this.#undecided.delete(uid);
        const pod = this.#deps.podManager.get(uid);
        if (pod) this.#contain('starting the pod', pod, () => this.#start(pod, next));
      });
  }

  #reject(pod: Pod, { reason, message }: FailedPod): void {
    const { statuses, events } = this.#deps;
    events.record({ object: podReference(pod), type: 'Warning', reason, message });
    statuses.reject(pod, { reason, message });
    countRejection(reason);
  }

  /** Ends the victims. For one that does not end in time the pod waits no longer: its end goes on. */
  async #preempt(pod: Pod, { victims, resources }: Preemption): Promise<void> {
    const { podWorkers, events, logger } = this.#deps;
    const end = async (victim: Pod) => {
      events.record({ object: podReference(victim), type: 'Warning', reason: preempted.reason, message: preempted.message });
      logger.info({ pod: nameOf(victim), podUID: podUID(victim), resources, for: nameOf(pod) }, 'Preempting a pod to free up resources');
      try {
        await podWorkers.kill(podUID(victim), { evicted: true, gracePeriodOverrideSeconds: null, failed: preempted });
        preemptions.inc({ preemption_signal: resources[0] ?? '' });
      } catch (err) {
        logger.error({ pod: nameOf(victim), podUID: podUID(victim), err }, 'Failed to evict a pod');
      }
    };
    await Promise.all(victims.map(end));
  }

  update(pods: readonly Pod[]): void {
    for (const pod of pods) this.#contain('updating the pod', pod, () => this.#update(pod));
  }

  #update(pod: Pod): void {
    const { podManager, podWorkers, onAdmitted } = this.#deps;
    const isStarted = podWorkers.isKnown(podUID(pod));
    if (isStarted) this.#checkChange(pod);
    podManager.set(pod);
    if (!isStarted) return this.#updateUnstarted(pod);
    if (!podWorkers.isTerminationRequested(podUID(pod)) && !isDeleted(pod)) onAdmitted?.(pod);
    podWorkers.update(this.#allocated(pod), 'update');
  }

  #checkChange(pod: Pod): void {
    const { podManager, events, missingFeaturesForUpdate } = this.#deps;
    const before = podManager.get(podUID(pod));
    const problem = before && missingFeaturesForUpdate?.(before, pod);
    if (problem) events.record({ object: podReference(pod), type: 'Warning', reason: 'FailedNodeDeclaredFeaturesCheck', message: problem });
  }

  /** A pod that was rejected stays so, whatever else changes in it; when it is deleted, nothing is left but to say that it is gone. */
  #updateUnstarted(pod: Pod): void {
    const { podWorkers, statuses } = this.#deps;
    if (isDeleted(pod) && !isMirrorPod(pod) && isTerminalPhase(statuses.get(podUID(pod))?.phase)) podWorkers.finish(pod);
  }

  remove(pods: readonly Pod[]): void {
    const { podManager, podWorkers, allocationManager, sourcesReady, logger } = this.#deps;
    for (const pod of pods) {
      this.#deps.faults.forget(podUID(pod));
      this.#contain('removing the pod', pod, () => {
        podManager.remove(podUID(pod));
        allocationManager.removePod(podUID(pod));
        if (isMirrorPod(pod)) return;
        if (sourcesReady()) podWorkers.remove(pod);
        // Housekeeping ends it once every source has reported: another one may still want it.
        else logger.debug({ pod: nameOf(pod) }, 'Not deleting a pod before every source has reported');
      });
    }
  }

  /** Only the status differs from what the source has. */
  reconcile(pods: readonly Pod[]): void {
    for (const pod of pods) {
      this.#contain('reconciling the pod', pod, () => {
        this.#deps.podManager.set(pod);
        this.#deps.podWorkers.reconcile(this.#deps.allocationManager.updatePodFromAllocation(pod));
      });
    }
  }

  /** Pods that use the node's resources or may do so: not ended, not rejected. Upstream: filterOutInactivePods. */
  active(): Pod[] {
    const { podManager, podWorkers, statuses } = this.#deps;
    return podManager.all().filter((pod) => {
      const uid = podUID(pod);
      if (podWorkers.hasEnded(uid)) return false;
      return !isTerminalPhase(statuses.get(uid)?.phase ?? pod.status?.phase) || podWorkers.isTerminationRequested(uid);
    });
  }

  #verdict(pod: Pod, gaveWay: ReadonlySet<PodUID>): AdmitResult {
    const { admitHandlers, allocationManager } = this.#deps;
    if (admitHandlers.length === 0) return null;
    // One whose own admission is open holds at most the room that is being made for it, and has nothing to give way with.
    const counts = (uid: PodUID) => !this.#undecided.has(uid) || (this.#undecided.get(uid) === 'makesRoom' && !isCriticalPod(pod));
    const isOther = (uid: PodUID) => uid !== podUID(pod) && !gaveWay.has(uid) && counts(uid);
    const active = this.active().flatMap((other) => (isOther(podUID(other)) ? [allocationManager.updatePodFromAllocation(other)] : []));
    try {
      return this.#ask(pod, active);
    } catch (err) {
      return this.#verdictAfterFault(pod, active, err);
    }
  }

  #ask(pod: Pod, active: readonly Pod[]): AdmitResult {
    for (const admit of this.#deps.admitHandlers) {
      const verdict = admit(pod, active);
      if (verdict) return verdict;
    }
    return null;
  }

  /** Another pod that can't be weighed must not keep this one out: it is left out of the question. */
  #verdictAfterFault(pod: Pod, active: readonly Pod[], fault: unknown): AdmitResult {
    const weighed = active.filter((other) =>
      contain({ handler: 'admission', logger: this.#deps.logger }, () => (this.#ask(pod, [other]), true)),
    );
    try {
      if (weighed.length < active.length) return this.#ask(pod, weighed);
    } catch {
      // It is this pod.
    }
    this.#deps.faults.report('admission', pod, fault);
    return { rejection: { reason: 'UnexpectedAdmissionError', message: faultMessage('admission', fault) } };
  }
}

/** What becomes of a pod that gives way to a critical one. */
const preempted: FailedPod = {
  reason: 'Preempting',
  message: 'Preempted in order to admit critical pod',
  disruption: { reason: 'TerminationByKubelet', message: 'Pod was preempted by Kubelet to accommodate a critical pod.' },
};

function nameOf({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}/${name}`;
}

function byCreation(a: Pod, b: Pod): number {
  const [first, second] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  return first < second ? -1 : first > second ? 1 : 0;
}
