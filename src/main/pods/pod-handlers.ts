/**
 * Handles the updates of the pod sources: stores the wanted pods in the pod manager, admits new pods, and passes them to the pod workers, which run
 * them. Upstream: HandlePodAdditions, HandlePodUpdates, HandlePodRemoves and HandlePodReconcile in pkg/kubelet/kubelet.go.
 */
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../shared/kubernetes/ids.ts';
import type { Clock } from '../../shared/time/clock.ts';
import type { AllocationManager } from '../allocation/index.ts';
import type { PodUpdate } from '../sources/index.ts';
import { podReference } from '../events/index.ts';
import { yieldToEventLoop } from '../../shared/concurrency/yield-to-event-loop.ts';
import { isPodRunning } from './pod-running.ts';
import type { ApiStatusCache } from './api-status/index.ts';
import type { PodLifecycleObservers } from './lifecycle/pod-lifecycle-observers.ts';
import type { PodStates } from './lifecycle/pod-states.ts';
import type { PodManager } from './pod-manager.ts';
import type { PodWorkers } from './workers/index.ts';
import { isDeleted } from '../../shared/kubernetes/is-deleted.ts';
import { isTerminalPhase } from '../../shared/kubernetes/pod-phase.ts';
import { isMirrorPod } from '../../shared/kubernetes/static-pod.ts';
import { firstAttempt, PodAdmitter, type AdmissionAttempt, type PodAdmitterDependencies } from './pod-admitter.ts';

export interface PodHandlersDependencies extends PodAdmitterDependencies {
  readonly podManager: PodManager;
  readonly podWorkers: PodWorkers;
  readonly podStates: Pick<PodStates, 'isKnown' | 'isTerminationRequested'>;
  readonly statuses: ApiStatusCache;
  /** Returns why the node cannot apply the change of a pod; recorded as an event only. */
  readonly missingFeaturesForUpdate: (before: Pod, after: Pod) => string | null;
  /** A pod that was admitted once is not admitted again, also after a restart of the kubelet. */
  readonly allocationManager: Pick<
    AllocationManager,
    'isAdmitted' | 'podToAdmit' | 'setAllocatedResources' | 'updatePodFromAllocation' | 'isResizing'
  >;
  readonly runtimeStatus: (uid: PodUID) => RuntimePodStatus | null;
  readonly observers: Pick<PodLifecycleObservers, 'admitted' | 'added' | 'changed' | 'rejected' | 'removed'>;
  readonly sourcesReady: () => boolean;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/** Adding a hundred pods takes 40 ms, and resizing them longer; main handles other input in between. */
const maxIterationMs = 5;
/** Before an update of this many pods, main handles other input: the sources have merged the update in this iteration, which takes 8 ms for 100 pods. */
const largeUpdatePods = 50;

export class PodHandlers {
  readonly #deps: PodHandlersDependencies;
  readonly #admitter: PodAdmitter;

  constructor(dependencies: PodHandlersDependencies) {
    this.#deps = dependencies;
    this.#admitter = new PodAdmitter(dependencies, (uid, next) => this.#retryStart(uid, next));
  }

  /** Many pods take several iterations of the event loop; the next update must wait for the returned promise. */
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

  /** Adds the pods, oldest first. When the kubelet starts, these are all pods of the node. */
  add(pods: readonly Pod[]): Promise<void> {
    return this.#forEach(pods.toSorted(byCreation), (pod) => {
      this.#contain('adding the pod', pod, () => this.#deps.podManager.set(pod));
      // A mirror pod never runs; MirrorPods listens to the pod manager.
      if (!isMirrorPod(pod)) this.start(pod);
    });
  }

  /** Handles one pod after the other, in several iterations of the event loop if they take long. */
  async #forEach(pods: readonly Pod[], handle: (pod: Pod) => void): Promise<void> {
    const { clock } = this.#deps;
    if (pods.length >= largeUpdatePods) await yieldToEventLoop();
    let iterationBeganAtMs = clock.monotonic();
    for (const pod of pods) {
      handle(pod);
      if (clock.monotonic() - iterationBeganAtMs < maxIterationMs) continue;
      await nextIteration();
      iterationBeganAtMs = clock.monotonic();
    }
  }

  /** Passes a wanted pod to its worker. Admits the pod first, unless the pod is ending or was admitted before. */
  start(pod: Pod): void {
    const uid = podUID(pod);
    if (this.#admitter.isPending(uid) || this.#deps.faults.isBackedOff(uid)) return;
    this.#contain('starting the pod', pod, () => this.#start(pod, firstAttempt));
  }

  /** Calls `work`. An exception affects this pod only; after a back-off the pod is handled again, as it is wanted then. */
  #contain(handler: string, pod: Pod, work: () => void): void {
    const uid = podUID(pod);
    this.#deps.faults.contain(handler, pod, work, () => {
      const newest = this.#deps.podManager.get(uid);
      if (!newest) return this.#deps.faults.forget(uid);
      if (this.#deps.podStates.isKnown(uid)) void this.update([newest]);
      else this.start(newest);
    });
  }

  #start(pod: Pod, attempt: AdmissionAttempt): void {
    const { podWorkers, podStates, allocationManager, observers } = this.#deps;
    const uid = podUID(pod);
    const isEnding = podStates.isTerminationRequested(uid) || isDeleted(pod) || isTerminalPhase(pod.status?.phase);
    if (!isEnding) {
      const runtime = this.#deps.runtimeStatus(uid);
      // A pod that runs was admitted, even if the record of that is lost. Nothing shows what was allocated to a sandbox without containers.
      const isAdmitted = allocationManager.isAdmitted(uid) || (isPodRunning(runtime) && runtime!.containers.length > 0);
      if (!isAdmitted && !this.#admitter.admit(allocationManager.podToAdmit(pod, runtime), attempt)) return;
      allocationManager.setAllocatedResources(pod, runtime);
      observers.admitted(pod);
    }
    podWorkers.update(allocationManager.updatePodFromAllocation(pod), 'create');
    if (!isEnding) observers.added(pod);
  }

  /** Decides a pending admission again, for the pod as it is wanted now. */
  #retryStart(uid: PodUID, attempt: AdmissionAttempt): void {
    const pod = this.#deps.podManager.get(uid);
    if (pod) this.#contain('starting the pod', pod, () => this.#start(pod, attempt));
  }

  update(pods: readonly Pod[]): Promise<void> {
    return this.#forEach(pods, (pod) => this.#contain('updating the pod', pod, () => this.#update(pod)));
  }

  #update(pod: Pod): void {
    const { podManager, podWorkers, podStates, allocationManager, observers } = this.#deps;
    const previous = podManager.get(podUID(pod));
    const isStarted = podStates.isKnown(podUID(pod));
    if (isStarted) this.#checkChange(pod);
    podManager.set(pod);
    if (!isStarted) return this.#updateUnstarted(pod);
    const isEnding = podStates.isTerminationRequested(podUID(pod)) || isDeleted(pod);
    if (!isEnding) {
      observers.changed(previous, pod);
      // The worker gets the pod when the new allocation is durable. A sync with the old allocation would only delay that.
      if (allocationManager.isResizing(podUID(pod))) return;
    }
    podWorkers.update(allocationManager.updatePodFromAllocation(pod), 'update');
  }

  #checkChange(pod: Pod): void {
    const { podManager, events, missingFeaturesForUpdate } = this.#deps;
    const previous = podManager.get(podUID(pod));
    const problem = previous && missingFeaturesForUpdate(previous, pod);
    if (problem) events.record({ object: podReference(pod), type: 'Warning', reason: 'FailedNodeDeclaredFeaturesCheck', message: problem });
  }

  /** A pod without a worker was rejected and stays rejected. When it is deleted, only the cleanup remains. */
  #updateUnstarted(pod: Pod): void {
    const { podWorkers, statuses } = this.#deps;
    if (isDeleted(pod) && !isMirrorPod(pod) && isTerminalPhase(statuses.get(podUID(pod))?.phase)) podWorkers.finish(pod);
  }

  remove(pods: readonly Pod[]): void {
    const { podManager, podWorkers, observers, sourcesReady, logger } = this.#deps;
    for (const pod of pods) {
      this.#deps.faults.forget(podUID(pod));
      this.#contain('removing the pod', pod, () => {
        podManager.remove(podUID(pod));
        if (isMirrorPod(pod)) return;
        if (sourcesReady()) podWorkers.remove(pod);
        // Another source may still want the pod: housekeeping ends the pod once every source has reported.
        else logger.debug({ pod: nameOf(pod) }, 'Not deleting a pod before every source has reported');
      });
    }
    observers.removed(pods.map(podUID));
  }

  /** Only the status of the pods has changed in the source. */
  reconcile(pods: readonly Pod[]): Promise<void> {
    return this.#forEach(pods, (pod) =>
      this.#contain('reconciling the pod', pod, () => {
        this.#deps.podManager.set(pod);
        this.#deps.podWorkers.reconcile(this.#deps.allocationManager.updatePodFromAllocation(pod));
      }),
    );
  }
}

function nameOf({ metadata: { namespace, name } }: Pod): string {
  return `${namespace}/${name}`;
}

function byCreation(a: Pod, b: Pod): number {
  const [first, second] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  return first < second ? -1 : first > second ? 1 : 0;
}
