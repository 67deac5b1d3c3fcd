/**
 * The workers of all pods, one for each UID: what runs, is ending or has ended on this node, whatever the sources say. The sync loop
 * tells it what is wanted (`update`, `remove`, `kill`), housekeeping compares the two (`syncKnownPods`). Upstream:
 * pkg/kubelet/pod_workers.go.
 */
import type { InspectionRequest } from '../../../shared/contracts/pleg.ts';
import type { WaitingReason } from '../../../shared/contracts/pod-sync/result.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import { contain } from '../../../shared/errors/contain.ts';
import type { Pod, PodStatus } from '../../../shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import { ActiveDeadlines, deadlineExceeded } from '../termination/active-deadlines.ts';
import { isTerminalPhase } from '../api-status/phase.ts';
import { podReference } from '../../events/index.ts';
import { isDeleted } from '../termination/is-deleted.ts';
import { firstSeen, hasEnded, type PodFacts, type PodLifecycle } from './pod-lifecycle.ts';
import type { FailedPod } from '../api-status/api-status-cache.ts';
import type { PodWorkerDependencies, PodWorkerOwner } from './pod-worker-dependencies.ts';
import { PodWorker } from './pod-worker.ts';
import { isPodRunning } from '../pod-running.ts';
import { isStaticPod } from '../static/static-pod.ts';
import { StaticPodOrder } from '../static/static-pod-order.ts';
import { exceededGracePeriod, TerminationWaiters } from '../termination/termination-waiters.ts';

export interface KillPodOptions {
  readonly evicted: boolean;
  readonly gracePeriodOverrideSeconds: number | null;
  /** The pod ends as Failed for this reason. */
  readonly failed?: FailedPod;
}

export interface KnownPod {
  readonly state: PodLifecycle['state'];
  /** No source wants it. */
  readonly orphan: boolean;
  /** Undefined: only the runtime knows it. */
  readonly isStatic: boolean | undefined;
}

export interface PodWorkersDependencies extends PodWorkerDependencies {
  /** A pod has finished: housekeeping need not wait for its next round. */
  readonly onFinished: (uid: PodUID) => void;
  /** Nothing is left of this UID: from now on it may start anew. */
  readonly onForgotten: (uid: PodUID) => void;
}

export class PodWorkers implements PodWorkerOwner {
  readonly #workers = new Map<PodUID, PodWorker>();
  readonly #order = new StaticPodOrder();
  readonly #terminationWaiters: TerminationWaiters;
  readonly #deps: PodWorkersDependencies;
  readonly #deadlines: ActiveDeadlines;
  #closed = false;

  constructor(dependencies: PodWorkersDependencies) {
    this.#deps = dependencies;
    this.#terminationWaiters = new TerminationWaiters(dependencies.clock);
    this.#deadlines = new ActiveDeadlines({ clock: dependencies.clock, onExceeded: (uid) => this.#onDeadline(uid) });
  }

  /** A source has the pod, new or changed. */
  update(pod: Pod, update: 'create' | 'update'): void {
    if (this.#closed) return;
    const uid = podUID(pod);
    const facts = podFacts(pod);
    let worker = this.#workers.get(uid);
    if (worker) {
      // A create on a UID that is ending is a new pod of the same UID: the old one ends with the spec that it had.
      if (worker.lifecycle.state === 'syncing' || update !== 'create') worker.pod = pod;
      worker.apply({ type: 'updated', update, pod: facts });
    } else {
      worker = this.#add(pod, firstSeen(facts, isPodRunning(this.#deps.cache.get(uid))));
      worker.apply({ type: 'updated', update, pod: facts });
    }
    if (worker.lifecycle.state === 'syncing') this.#deps.volumes.addPod(pod);
    worker.wake();
  }

  /**
   * Only its status differs from what its source had: conditions of others, which readiness gates ask for. It is not synced for that, but
   * one that somebody has called Succeeded or Failed ends.
   */
  reconcile(pod: Pod): void {
    const worker = this.#workers.get(podUID(pod));
    if (worker?.lifecycle.state !== 'syncing') return;
    worker.pod = pod;
    if (isTerminalPhase(pod.status?.phase)) {
      worker.apply({ type: 'updated', update: 'update', pod: podFacts(pod) });
      worker.wake();
    } else if (pod.spec.readinessGates?.length) worker.refreshStatus();
  }

  /** A pod that was deleted, and that never had a worker since it was refused: nothing is left to do but to clean up after it. */
  finish(pod: Pod): void {
    if (this.#closed || this.#workers.has(podUID(pod))) return;
    this.#add(pod, { state: 'terminated', finished: false, deleted: true, evicted: false, restartRequested: false }).wake();
  }

  /** No source has the pod any more. */
  remove(pod: Pod): void {
    const worker = this.#workers.get(podUID(pod));
    worker?.apply({ type: 'removed', pod: podFacts(pod) });
    worker?.wake();
  }

  /**
   * Ends the pod (an eviction, a node shutdown) and waits until none of its containers runs. Rejects with ExceededGracePeriod when
   * that takes half as long again as the grace period, and at least 10 s; the pod's end goes on all the same. What it ends for is
   * shown from now on, its phase when nothing runs any more.
   */
  async kill(uid: PodUID, options: KillPodOptions): Promise<void> {
    const worker = this.#workers.get(uid);
    if (!worker || worker.lifecycle.state === 'terminated') return;
    const { pod } = worker;
    // What only the runtime knows is ending already, and its own end is waited for.
    if (pod) this.#end(worker, pod, options);
    const graceSeconds = options.gracePeriodOverrideSeconds ?? pod?.spec.terminationGracePeriodSeconds ?? 0;
    try {
      await this.#terminationWaiters.wait(uid, graceSeconds);
    } catch (err) {
      if (pod) this.#deps.events.record({ object: podReference(pod), type: 'Warning', ...exceededGracePeriod });
      throw err;
    }
  }

  #end(worker: PodWorker, pod: Pod, { evicted, gracePeriodOverrideSeconds, failed }: KillPodOptions): void {
    if (failed) this.#deps.statuses.setFailed(worker.uid, failed);
    worker.apply({ type: 'killRequested', pod: podFacts(pod), evicted, gracePeriodOverrideSeconds });
    worker.wake();
  }

  /** A pod that only the runtime knows: it is ended as its own annotations say, and its remains are removed. */
  terminateRuntimePod(status: RuntimePodStatus): void {
    if (this.#closed || this.#workers.has(status.podUID)) return;
    const { podUID: uid, name, namespace } = status;
    const worker = this.#addWorker({ uid, name, namespace, isStatic: false, pod: null }, { state: 'syncing', started: false });
    worker.apply({ type: 'foundInRuntime' });
    worker.wake();
  }

  /** Something of this UID is on disk, and nobody knows it: it is removed, and the UID does not start meanwhile. */
  cleanUpUnknown(uid: PodUID): void {
    if (this.#closed || this.#workers.has(uid)) return;
    const ended = { state: 'terminated', finished: true, deleted: true, evicted: false, restartRequested: false } as const;
    this.#addWorker({ uid, name: '', namespace: '', isStatic: false, pod: null }, ended).forget();
  }

  /** Wakes the workers whose time has come. */
  wake(uids: Iterable<PodUID>): void {
    for (const uid of uids) this.#workers.get(uid)?.wake();
  }

  /** Wakes those whose last task failed, before the end of its back-off: what it failed of may be over. */
  wakeFailed(): void {
    for (const worker of this.#workers.values()) if (worker.hasFailed) worker.wake();
  }

  /** Its task has ended every container of the pod. */
  containersEnded(uid: PodUID): void {
    this.#workers.get(uid)?.containersEnded();
  }

  /** Its task is about to stop these containers and to start them again. False: it must not, one of them has ended by itself. */
  beginRestart(uid: PodUID, containers: readonly RuntimeContainerStatus[]): boolean {
    return this.#workers.get(uid)?.beginRestart(containers) ?? true;
  }

  /** Its task could not start the container. */
  addWaiting(uid: PodUID, container: string, why: WaitingReason): void {
    if (this.#deps.statuses.addWaitingReason(uid, container, why)) this.#workers.get(uid)?.refreshStatus();
  }

  /** Settles when the sync of the pod that is under way has ended and its status was made; undefined: none is. */
  syncUnderWay(uid: PodUID): Promise<unknown> | undefined {
    return this.#workers.get(uid)?.syncUnderWay;
  }

  refreshStatuses(uids: Iterable<PodUID>): void {
    for (const uid of uids) this.#workers.get(uid)?.refreshStatus();
  }

  /**
   * Compares with the pods that the sources want: those that are not wanted are ended, and forgotten once they have; so are those
   * that were created again meanwhile. Answers with every pod that is still known. Upstream: SyncKnownPods.
   */
  syncKnownPods(desired: ReadonlySet<PodUID>): Map<PodUID, KnownPod> {
    const known = new Map<PodUID, KnownPod>();
    for (const [uid, worker] of this.#workers) {
      const orphan = !desired.has(uid);
      const { lifecycle } = worker;
      contain({ handler: 'housekeeping', logger: this.#deps.logger, fields: { podUID: uid } }, () => {
        if (lifecycle.state === 'terminated' && lifecycle.finished) {
          if (orphan || lifecycle.restartRequested) worker.forget();
        } else if (orphan && lifecycle.state === 'syncing' && worker.pod) {
          this.remove(worker.pod);
        }
      });
      known.set(uid, { state: worker.lifecycle.state, orphan, isStatic: worker.pod ? worker.isStatic : undefined });
    }
    return known;
  }

  /** Whether the starts that a notification of this inspection reports need no sync; see PodWorker. */
  shouldIgnoreStarts({ podUID: uid, sequence }: InspectionRequest): boolean {
    return this.#workers.get(uid)?.shouldIgnoreStarts(sequence) ?? false;
  }

  isKnown(uid: PodUID): boolean {
    return this.#workers.has(uid);
  }

  /** It is ending or has ended; false for a pod that is not known. */
  isTerminationRequested(uid: PodUID): boolean {
    const state = this.#workers.get(uid)?.lifecycle.state;
    return state !== undefined && state !== 'syncing';
  }

  /** None of its containers runs, or will run again: what they had of the node is free, and its API server may know. */
  hasEnded(uid: PodUID): boolean {
    const lifecycle = this.#workers.get(uid)?.lifecycle;
    return lifecycle !== undefined && hasEnded(lifecycle);
  }

  /**
   * A static pod of this name has not ended yet, other than the wanted one, which may run. Upstream: startedStaticPodsByFullname, and
   * IsPodForMirrorPodTerminatingByFullName.
   */
  isStaticPodEnding(fullName: string, wanted: PodUID | undefined): boolean {
    return this.#workers.values().some(({ uid, isStatic, fullName: name, lifecycle }) => {
      if (!isStatic || name !== fullName) return false;
      return lifecycle.state === 'terminated' ? !lifecycle.finished : lifecycle.state === 'terminating' || uid !== wanted;
    });
  }

  /**
   * Nobody will ask for its containers and logs again: it was evicted, or is deleted and has ended. Upstream: ShouldPodContentBeRemoved; but one
   * that comes back by the same UID writes into the folder of its logs again, before a collection that was asked for now may have come there.
   */
  shouldContentBeRemoved(uid: PodUID): boolean {
    const lifecycle = this.#workers.get(uid)?.lifecycle;
    if (!lifecycle) return true;
    if (lifecycle.state === 'syncing' || lifecycle.restartRequested) return false;
    return lifecycle.evicted || (lifecycle.deleted && lifecycle.state === 'terminated');
  }

  /** The spec that is being worked towards; undefined when only the runtime knows the pod, or nobody. */
  pod(uid: PodUID): Pod | undefined {
    return this.#workers.get(uid)?.pod ?? undefined;
  }

  uids(): PodUID[] {
    return [...this.#workers.keys()];
  }

  /** Stops every task where it does no harm; resolves when none is under way. Pods keep running. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#deadlines.close();
    await Promise.all(this.#workers.values().map((worker) => worker.close()));
  }

  mayStart(worker: PodWorker): boolean {
    if (!worker.isStatic) return true;
    return this.#order.tryStart(worker.fullName, worker.uid);
  }

  onStatus(worker: PodWorker, status: PodStatus): void {
    if (worker.pod) this.#deadlines.watch(worker.pod, status.startTime);
  }

  onTerminated(worker: PodWorker): void {
    this.#deadlines.forget(worker.uid);
    this.#terminationWaiters.notifyTerminated(worker.uid);
    this.#deps.volumes.markUnwanted(worker.uid);
  }

  onFinished(worker: PodWorker): void {
    const next = worker.isStatic ? this.#order.release(worker.fullName, worker.uid) : null;
    if (next !== null) this.wake([next]);
    this.#deps.volumes.removePod(worker.uid);
    this.#deps.onFinished(worker.uid);
  }

  onCleanedUp(worker: PodWorker): void {
    this.#workers.delete(worker.uid);
    this.#deps.workQueue.remove(worker.uid);
    this.#deps.statuses.forget(worker.uid);
    this.#deps.onForgotten(worker.uid);
  }

  #add(pod: Pod, lifecycle: PodLifecycle): PodWorker {
    const { name, namespace } = pod.metadata;
    const worker = this.#addWorker({ uid: podUID(pod), name, namespace, isStatic: isStaticPod(pod), pod }, lifecycle);
    if (worker.isStatic) this.#order.enqueue(worker.fullName, worker.uid);
    return worker;
  }

  #addWorker(identity: ConstructorParameters<typeof PodWorker>[0], lifecycle: PodLifecycle): PodWorker {
    const worker = new PodWorker(identity, lifecycle, this, this.#deps);
    this.#workers.set(identity.uid, worker);
    return worker;
  }

  #onDeadline(uid: PodUID): void {
    contain({ handler: 'active deadlines', logger: this.#deps.logger, fields: { podUID: uid } }, () => this.#endByDeadline(uid));
  }

  #endByDeadline(uid: PodUID): void {
    const worker = this.#workers.get(uid);
    if (!worker?.pod || worker.lifecycle.state !== 'syncing') return;
    this.#deps.events.record({ object: podReference(worker.pod), type: 'Normal', ...deadlineExceeded });
    this.#end(worker, worker.pod, { evicted: false, gracePeriodOverrideSeconds: null, failed: deadlineExceeded });
  }
}

function podFacts(pod: Pod): PodFacts {
  return {
    deletionRequested: isDeleted(pod),
    deletionGracePeriodSeconds: pod.metadata.deletionGracePeriodSeconds ?? null,
    terminationGracePeriodSeconds: pod.spec.terminationGracePeriodSeconds ?? null,
    phaseTerminal: isTerminalPhase(pod.status?.phase),
  };
}
