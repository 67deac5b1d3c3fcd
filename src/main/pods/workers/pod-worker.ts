/**
 * One pod's worker: takes the pod through its lifecycle (pod-lifecycle.ts) with one task in flight at a time (pod-syncer.ts). Updates that arrive
 * during a task are merged into the next step: the worker stores the newest spec and the state, never a list of updates. Results are completed in one
 * place (work-completion.ts). Upstream: podWorkerLoop in pkg/kubelet/pod_workers.go.
 */
import type { RuntimeContainerStatus } from '../../../shared/contracts/runtime-status.ts';
import { contain } from '../../../shared/faults/contain.ts';
import type { AllocatedPod } from '../../allocation/index.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { isRestartableInitContainer } from '../../../shared/kubernetes/restart-policy.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { containersPerPod, podWorkerStartDuration } from '../../../shared/metrics/definitions/pods.ts';
import { runInSpan } from '../../../shared/tracing/index.ts';
import { firstSeenMs, firstStatusDelayMs } from '../first-seen.ts';
import { advanceLifecycle, type LifecycleEvent, type PodLifecycle } from '../lifecycle/pod-lifecycle.ts';
import { syncPodSpan, syncTerminatedPodSpan, syncTerminatingPodSpan, updateTypeOf, type TracedPod } from './pod-spans.ts';
import { PodSyncer, type SyncedPod } from './pod-syncer.ts';
import { PodTaskRunner } from './pod-task-runner.ts';
import { RuntimeStatusReader } from './runtime-status-reader.ts';
import type { PodWorkerDependencies, PodWorkerOwner } from './pod-worker-dependencies.ts';
import { haveAllContainersExited } from '../pod-running.ts';
import type { SyncSlot } from '../dispatch/index.ts';
import { WorkCompletion } from './work-completion.ts';

export class PodWorker implements SyncedPod {
  readonly uid: PodUID;
  readonly fullName: string;
  readonly isStatic: boolean;
  /** The newest spec; null when only the runtime knows the pod. */
  pod: AllocatedPod | null;
  #lifecycle: PodLifecycle;
  #forgetRequested = false;
  /** The runtime has created something for the pod after the pod's end. */
  #hasLeftovers = false;
  #closed = false;
  /** The loop of steps in progress. */
  #loop: Promise<void> | null = null;
  #step: Promise<boolean> | null = null;
  /** The worker was woken since the current step began. */
  #hasPendingUpdate = false;
  readonly #tasks: PodTaskRunner;
  /** The slot of the sync in progress. */
  #slot: SyncSlot | undefined;
  readonly #reader: RuntimeStatusReader;
  readonly #syncer: PodSyncer;
  readonly #completion: WorkCompletion;
  /** The terminating task has stopped every container; the cache may not show that yet. */
  #haveContainersEnded = false;
  readonly #deps: PodWorkerDependencies;
  readonly #owner: PodWorkerOwner;
  readonly #log: Logger;
  readonly #traced: TracedPod;
  /** The pod of the last sync. */
  #lastSynced: AllocatedPod | null = null;

  constructor(
    identity: {
      readonly uid: PodUID;
      readonly name: string;
      readonly namespace: string;
      readonly isStatic: boolean;
      readonly pod: AllocatedPod | null;
    },
    lifecycle: PodLifecycle,
    owner: PodWorkerOwner,
    dependencies: PodWorkerDependencies,
  ) {
    this.uid = identity.uid;
    this.fullName = `${identity.name}_${identity.namespace}`;
    this.isStatic = identity.isStatic;
    this.pod = identity.pod;
    this.#lifecycle = lifecycle;
    this.#owner = owner;
    this.#deps = dependencies;
    this.#log = dependencies.logger.child({ pod: `${identity.namespace}/${identity.name}`, podUID: identity.uid });
    this.#traced = { uid: identity.uid, name: identity.name, namespace: identity.namespace };
    this.#reader = new RuntimeStatusReader(identity.uid, dependencies);
    this.#tasks = new PodTaskRunner(dependencies);
    const shared = { worker: this, dependencies, reader: this.#reader, log: this.#log };
    this.#completion = new WorkCompletion(shared);
    this.#syncer = new PodSyncer({ ...shared, owner, tasks: this.#tasks, completion: this.#completion });
  }

  get lifecycle(): PodLifecycle {
    return this.#lifecycle;
  }

  /** Whether the last task failed and the worker waits for the end of a back-off that a retry may shorten. */
  get canRetryEarly(): boolean {
    return this.#completion.canRetryEarly;
  }

  /**
   * Whether the starts that the pleg thread reports now are those of the worker's own task, which need no further sync. A sidecar's start
   * needs one: the next container follows it.
   */
  get shouldIgnoreStarts(): boolean {
    return this.#syncer.isInspectingAfterSync && !this.pod?.spec.initContainers?.some(isRestartableInitContainer);
  }

  /** Settles when the sync in progress has ended and its status is generated; undefined without a sync. */
  get syncInProgress(): Promise<unknown> | undefined {
    return this.#lifecycle.state === 'syncing' ? (this.#step ?? undefined) : undefined;
  }

  /** Applies the event. Stops the sync in progress when the pod must terminate, and shortens a termination in progress. */
  apply(event: LifecycleEvent): void {
    const before = this.#lifecycle;
    const after = advanceLifecycle(before, event);
    if (after === before) return;
    this.#lifecycle = after;
    if (before.state !== after.state) this.#log.debug({ from: before.state, to: after.state, event: event.type }, 'Pod lifecycle moved on');
    if (after.state !== 'syncing') this.#slot?.prioritize();
    if (after.state !== 'terminating') return;
    const { observers } = this.#deps;
    if (before.state !== 'terminating' || before.gracePeriodSeconds !== after.gracePeriodSeconds)
      observers.terminating(this.uid, after.gracePeriodSeconds ?? this.pod?.spec.terminationGracePeriodSeconds ?? null);
    if (event.type === 'containersEnded') observers.containersEnded(this.uid);
    if (before.state === 'syncing') this.#tasks.stop(true);
    // Also for a sync: a kill that it has begun goes on.
    if (after.gracePeriodSeconds !== null) this.#tasks.shrinkGracePeriod(after.gracePeriodSeconds);
  }

  /** Runs a step now, or after the step in progress. */
  wake(): void {
    this.#hasPendingUpdate = true;
    if (this.#closed) return;
    this.#loop ??= this.#runSteps().finally(() => {
      this.#loop = null;
    });
  }

  /** Runs a step now, or after the step in progress; a sync that waits for its slot waits no longer. */
  wakeUrgently(): void {
    this.#slot?.prioritize();
    this.wake();
  }

  /** Removes the worker once its pod is finished and cleaned up. */
  forget(): void {
    if (this.#forgetRequested) return;
    this.#forgetRequested = true;
    this.wake();
  }

  /**
   * The runtime has created a sandbox or a cgroup for the pod. If the pod has terminated, the runtime has continued a cancelled call: the worker removes
   * what the call has created. A removal that has failed waits for the end of its back-off.
   */
  removeLeftovers(): void {
    if (this.#lifecycle.state !== 'terminated' || this.#hasLeftovers) return;
    this.#hasLeftovers = true;
    this.wake();
  }

  /** Regenerates the API status after a change of the runtime status. */
  refreshStatus(): void {
    contain({ handler: 'pod status', logger: this.#log }, () => {
      if (this.#haveContainersEnded && haveAllContainersExited(this.#deps.cache.get(this.uid))) this.apply({ type: 'containersEnded' });
      if (this.pod && this.#lifecycle.state !== 'terminated') {
        this.#deps.statuses.regenerate(this.pod, this.#reader.statusToPublish(), this.#lifecycle);
      }
    });
  }

  /** The task is about to restart these containers. Returns false when one of them has exited by itself: the task must not restart it. */
  beginRestart(containers: readonly RuntimeContainerStatus[]): boolean {
    return this.#reader.beginRestart(containers);
  }

  /** The task has stopped every container and continues with the sandboxes: the final status can be published meanwhile. */
  containersEnded(): void {
    this.#haveContainersEnded = true;
    if (haveAllContainersExited(this.#deps.cache.get(this.uid))) this.refreshStatus();
  }

  /** Starts no further step and stops the task in flight. Resolves when the step in progress has ended. */
  async close(): Promise<void> {
    this.#end();
    this.#slot?.prioritize();
    this.#tasks.stop(false);
    await this.#loop;
  }

  #end(): void {
    this.#closed = true;
    this.#completion.close();
  }

  async #runSteps(): Promise<void> {
    let runAgain = true;
    while ((runAgain || this.#hasPendingUpdate) && !this.#closed) {
      this.#hasPendingUpdate = false;
      this.#step = this.#runStep();
      runAgain = await this.#step;
      this.#step = null;
    }
  }

  /** Returns whether the next step follows at once. */
  async #runStep(): Promise<boolean> {
    const lifecycle = this.#lifecycle;
    try {
      if (lifecycle.state === 'syncing') return await this.#sync();
      if (lifecycle.state === 'terminating') {
        return await runInSpan(
          () => syncTerminatingPodSpan(this.#traced),
          () => this.#syncer.syncTerminatingPod(lifecycle),
        );
      }
      if (!lifecycle.finished) {
        await runInSpan(
          () => syncTerminatedPodSpan(this.#traced),
          () => this.#syncer.syncTerminatedPod(),
        );
      } else if (this.#hasLeftovers) {
        if (await this.#syncer.syncLeftovers()) this.#hasLeftovers = false;
        return this.#forgetRequested && !this.#hasLeftovers;
      } else if (this.#forgetRequested) await this.#cleanUp();
    } catch (err) {
      this.#completion.fail(lifecycle.state === 'syncing' ? 'sync' : 'terminating', err);
    }
    return false;
  }

  async #sync(): Promise<boolean> {
    const { pod } = this;
    if (!pod) return false;
    const { timelines } = this.#deps;
    timelines.beginUnlessOpen(this.uid, 'Queue');
    if (!this.#owner.allowPodStart(this)) {
      timelines.wait(this.uid, 'Queue', 'StaticPod');
      return false;
    }
    if (this.#lifecycle.state === 'syncing' && !this.#lifecycle.started) this.#observeStart(pod);
    this.apply({ type: 'started' });
    const cancelFirstStatus = this.#scheduleFirstStatus(pod);
    const slot = this.#deps.dispatcher.requestSyncSlot(pod, this.#deps.cache.get(this.uid));
    if (this.#deps.probes.hasFailed(this.uid)) slot.prioritize();
    this.#slot = slot;
    try {
      const endWait = timelines.wait(this.uid, 'Queue', 'SyncSlot');
      await slot.granted;
      endWait();
      timelines.end(this.uid, 'Queue');
      // The sync that begins now includes all updates that arrived while it waited.
      this.#hasPendingUpdate = false;
      return !this.#closed && (await this.#syncPod(this.pod ?? pod));
    } finally {
      cancelFirstStatus();
      this.#slot = undefined;
      slot.release();
    }
  }

  #syncPod(pod: AllocatedPod): Promise<boolean> {
    const lastSynced = this.#lastSynced;
    this.#lastSynced = pod;
    return runInSpan(
      () => syncPodSpan(this.#traced, updateTypeOf(pod, lastSynced)),
      () => this.#syncer.syncPod(pod),
    );
  }

  /** Publishes a first status in time, even if the sync waits for its slot or for the runtime. Call the result to cancel. */
  #scheduleFirstStatus(pod: AllocatedPod): () => void {
    const { statuses, clock } = this.#deps;
    const isKnown = () => pod.status?.startTime !== undefined || statuses.get(this.uid) !== undefined;
    if (isKnown()) return () => {};
    // firstSeenMs may be in the future: the wall clock may have been set back.
    const delayMs = Math.min(firstStatusDelayMs, firstSeenMs(pod) + firstStatusDelayMs - clock.now());
    return clock.after(Math.max(0, delayMs), () => {
      if (!isKnown()) this.refreshStatus();
    });
  }

  #observeStart(pod: AllocatedPod): void {
    const seenAtMs = firstSeenMs(pod);
    containersPerPod.observe(pod.spec.containers.length);
    if (seenAtMs > 0) podWorkerStartDuration.observe(Math.max(0, this.#deps.clock.now() - seenAtMs) / 1000);
  }

  /** Removes everything of a finished pod from the node. */
  async #cleanUp(): Promise<void> {
    const result = await this.#tasks.run({ kind: 'cleanUp', podUID: this.uid, node: this.#deps.node() });
    if (result.outcome !== 'synced') return this.#completion.complete('cleanUp', result);
    this.#end();
    this.#owner.onForgotten(this);
  }
}
