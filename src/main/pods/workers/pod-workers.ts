/**
 * The pod workers, one per UID: every pod that runs, terminates or has terminated on this node, whether a source wants the pod or not. PodStates has
 * the states of their pods. Pod handlers pass in what the sources want (`update`, `remove`); housekeeping compares both (`syncKnownPods`). Upstream:
 * pkg/kubelet/pod_workers.go.
 */
import type { WaitingReason } from '../../../shared/contracts/pod-sync/result.ts';
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import { contain } from '../../../shared/faults/contain.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import { asAllocated, type AllocatedPod } from '../../allocation/index.ts';
import { podUID, type PodUID } from '../../../shared/kubernetes/ids.ts';
import { isTerminalPhase } from '../../../shared/kubernetes/pod-phase.ts';
import { initialLifecycle, type PodLifecycle } from '../lifecycle/pod-lifecycle.ts';
import { podFacts } from '../lifecycle/pod-facts.ts';
import type { PodLifecycleObservers } from '../lifecycle/pod-lifecycle-observers.ts';
import type { PodStates } from '../lifecycle/pod-states.ts';
import { PodKiller, type KillPodOptions } from './pod-killer.ts';
import type { PodIdentity, PodWorkerDependencies, PodWorkerOwner } from './pod-worker-dependencies.ts';
import { PodWorker } from './pod-worker.ts';
import { isPodRunning } from '../pod-running.ts';
import { isStaticPod } from '../../../shared/kubernetes/static-pod.ts';
import { StaticPodOrder } from '../static/static-pod-order.ts';

/** Upstream: PodWorkerSync. */
export interface PodWorkerSync {
  readonly state: PodLifecycle['state'];
  /** No source wants the pod. */
  readonly orphan: boolean;
  /** Undefined when only the runtime knows the pod. */
  readonly isStatic: boolean | undefined;
}

export interface PodWorkersDependencies extends Omit<PodWorkerDependencies, 'pool'> {
  /** Creates the pool that runs the tasks of pods. `workers` gets the requests of tasks that concern a pod's worker. */
  readonly createPool: (workers: PodWorkers) => PodWorkerDependencies['pool'];
  readonly podStates: Pick<PodStates, 'add' | 'remove'>;
  readonly observers: PodLifecycleObservers;
}

export class PodWorkers implements PodWorkerOwner {
  readonly #workers = new Map<PodUID, PodWorker>();
  readonly #staticPodOrder = new StaticPodOrder();
  readonly #killer: PodKiller;
  readonly #deps: PodWorkersDependencies & PodWorkerDependencies;
  #closed = false;

  constructor(dependencies: PodWorkersDependencies) {
    this.#deps = { ...dependencies, pool: dependencies.createPool(this) };
    this.#killer = new PodKiller(dependencies, (uid) => this.#workers.get(uid));
    dependencies.observers.register({
      name: 'pod-killer',
      syncing: (pod, { startTime }) => this.#killer.watchDeadline(pod, startTime),
      terminated: (uid) => this.#killer.onTerminated(uid),
    });
  }

  /** A source has a new or changed pod. */
  update(pod: AllocatedPod, update: 'create' | 'update'): void {
    if (this.#closed) return;
    const uid = podUID(pod);
    const facts = podFacts(pod);
    let worker = this.#workers.get(uid);
    if (worker) {
      // A create for a terminating UID is a new pod with the same UID: the old pod terminates with its own spec.
      if (worker.lifecycle.state === 'syncing' || update !== 'create') worker.pod = pod;
      worker.apply({ type: 'updated', update, pod: facts });
    } else {
      worker = this.#add(pod, initialLifecycle(facts, isPodRunning(this.#deps.cache.get(uid))));
      // For a pod that ended before this kubelet started, `create` must not request a restart of the UID: the pod would be cleaned up again and again.
      if (worker.lifecycle.state === 'syncing') worker.apply({ type: 'updated', update, pod: facts });
    }
    worker.wake();
  }

  /** Only the pod's status has changed in its source. A changed readiness gate needs a new status but no sync; a terminal phase ends the pod. */
  reconcile(pod: AllocatedPod): void {
    const worker = this.#workers.get(podUID(pod));
    if (worker?.lifecycle.state !== 'syncing') return;
    worker.pod = pod;
    if (isTerminalPhase(pod.status?.phase)) {
      worker.apply({ type: 'updated', update: 'update', pod: podFacts(pod) });
      worker.wake();
    } else if (pod.spec.readinessGates?.length) worker.refreshStatus();
  }

  /** Cleans up after a deleted pod that was rejected and so never had a worker. */
  finish(pod: Pod): void {
    if (this.#closed || this.#workers.has(podUID(pod))) return;
    this.#add(asAllocated(pod), { state: 'terminated', finished: false, deleted: true, evicted: false, restartRequested: false }).wake();
  }

  /** No source has the pod any more: ends the pod. */
  remove(pod: Pod): void {
    const worker = this.#workers.get(podUID(pod));
    worker?.apply({ type: 'removed', pod: podFacts(pod) });
    worker?.wake();
  }

  /** Ends the pod and waits until none of its containers runs; see PodKiller. */
  kill(uid: PodUID, options: KillPodOptions): Promise<void> {
    return this.#killer.kill(uid, options);
  }

  /** Terminates and cleans up a pod that only the runtime knows. Its annotations state its grace period. */
  terminateRuntimePod(status: RuntimePodStatus): void {
    if (this.#closed || this.#workers.has(status.podUID)) return;
    const { podUID: uid, name, namespace } = status;
    this.#deps.observers.foundInRuntime(status);
    const worker = this.#addWorker({ uid, name, namespace, isStatic: false, pod: null }, { state: 'syncing', started: false });
    worker.apply({ type: 'foundInRuntime' });
    worker.wake();
  }

  /** Removes the directory of an unknown UID. No pod with this UID starts meanwhile. */
  cleanUpUnknown(uid: PodUID): void {
    if (this.#closed || this.#workers.has(uid)) return;
    const terminatedState = { state: 'terminated', finished: true, deleted: true, evicted: false, restartRequested: false } as const;
    this.#addWorker({ uid, name: '', namespace: '', isStatic: false, pod: null }, terminatedState).forget();
  }

  /** The runtime has created something for a pod: removes it if the pod has terminated already. */
  removeLeftovers(uid: PodUID): void {
    this.#workers.get(uid)?.removeLeftovers();
  }

  /** Wakes the workers of these pods. */
  wake(uids: Iterable<PodUID>): void {
    for (const uid of uids) this.#workers.get(uid)?.wake();
  }

  /** Wakes the workers of these pods; their syncs come before all others that wait. */
  wakeUrgently(uids: Iterable<PodUID>): void {
    for (const uid of uids) this.#workers.get(uid)?.wakeUrgently();
  }

  /** Wakes the workers whose last task failed before the end of their back-off: the cause may be gone. */
  wakeFailed(): void {
    for (const worker of this.#workers.values()) if (worker.canRetryEarly) worker.wake();
  }

  /** The task has stopped every container of the pod. */
  containersEnded(uid: PodUID): void {
    this.#workers.get(uid)?.containersEnded();
  }

  /** The task is about to restart these containers. Returns false when one of them has exited by itself: the task must not restart it. */
  beginRestart(uid: PodUID, containers: readonly RuntimeContainerStatus[]): boolean {
    return this.#workers.get(uid)?.beginRestart(containers) ?? true;
  }

  /** The task could not start the container. */
  addWaitingReason(uid: PodUID, container: string, waiting: WaitingReason): void {
    if (this.#deps.statuses.addWaitingReason(uid, container, waiting)) this.#workers.get(uid)?.refreshStatus();
  }

  refreshStatuses(uids: Iterable<PodUID>): void {
    for (const uid of uids) this.#workers.get(uid)?.refreshStatus();
  }

  /**
   * Terminates the pods that no source wants, and forgets them when they have finished; forgets finished pods that were recreated with the same UID
   * too. Returns every known pod. Upstream: SyncKnownPods.
   */
  syncKnownPods(desired: ReadonlySet<PodUID>): Map<PodUID, PodWorkerSync> {
    const knownPods = new Map<PodUID, PodWorkerSync>();
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
      knownPods.set(uid, { state: worker.lifecycle.state, orphan, isStatic: worker.pod ? worker.isStatic : undefined });
    }
    return knownPods;
  }

  /** Whether the starts that the pleg thread reports now need no sync; see PodWorker. */
  shouldIgnoreStarts(uid: PodUID): boolean {
    return this.#workers.get(uid)?.shouldIgnoreStarts ?? false;
  }

  /** Stops every task where no step stays half done; resolves when no task is in flight. Pods keep running. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#killer.close();
    await Promise.all(this.#workers.values().map((worker) => worker.close()));
  }

  allowPodStart(worker: PodIdentity): boolean {
    if (!worker.isStatic) return true;
    return this.#staticPodOrder.tryStart(worker.fullName, worker.uid);
  }

  onTerminated(worker: PodIdentity): void {
    this.#deps.observers.terminated(worker.uid);
  }

  onFinished(worker: PodIdentity): void {
    const next = worker.isStatic ? this.#staticPodOrder.release(worker.fullName, worker.uid) : null;
    if (next !== null) this.wake([next]);
    this.#deps.observers.finished(worker.uid);
  }

  onForgotten(worker: PodIdentity): void {
    this.#workers.delete(worker.uid);
    this.#deps.podStates.remove(worker.uid);
    this.#deps.observers.forgotten(worker.uid);
  }

  #add(pod: AllocatedPod, lifecycle: PodLifecycle): PodWorker {
    const { name, namespace } = pod.metadata;
    const worker = this.#addWorker({ uid: podUID(pod), name, namespace, isStatic: isStaticPod(pod), pod }, lifecycle);
    if (worker.isStatic) this.#staticPodOrder.enqueue(worker.fullName, worker.uid);
    return worker;
  }

  #addWorker(identity: ConstructorParameters<typeof PodWorker>[0], lifecycle: PodLifecycle): PodWorker {
    const worker = new PodWorker(identity, lifecycle, this, this.#deps);
    this.#workers.set(identity.uid, worker);
    this.#deps.podStates.add(worker);
    return worker;
  }
}
