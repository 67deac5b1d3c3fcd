/**
 * One pod's worker: it takes the pod through its life (pod-lifecycle.ts) with one task in flight at a time. What arrives during a task
 * is merged into the next: the worker keeps the newest spec and the state, never a list of updates. Every result, good or bad, becomes
 * log line, event and next look in one place, `#settle`. Upstream: podWorkerLoop in pkg/kubelet/pod_workers.go, and main's part of
 * SyncPod, SyncTerminatingPod and SyncTerminatedPod in pkg/kubelet/kubelet.go.
 */
import type { ContainerBackoff, CreatedObjects, PodSyncResult } from '../../../shared/contracts/pod-sync/result.ts';
import type { RuntimeContainerStatus } from '../../../shared/contracts/runtime-status.ts';
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import { contain, reportFault } from '../../../shared/errors/contain.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { isRestartableInitContainer } from '../../../shared/kubernetes/restart-policy.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { containersPerPod, podWorkerStartDuration } from '../../../shared/metrics/definitions/pods.ts';
import type { PodTask } from '../../threads/task-channel.ts';
import { isTerminalPhase } from '../api-status/phase.ts';
import { podReference } from '../../events/index.ts';
import { firstSeenMs, firstStatusDelayMs } from '../first-seen.ts';
import { advance, type LifecycleEvent, type PodLifecycle } from './pod-lifecycle.ts';
import { PodTaskRun } from './pod-task-runner.ts';
import { RuntimeStatusReader } from './runtime-status-reader.ts';
import type { PodWorkerDependencies, PodWorkerOwner } from './pod-worker-dependencies.ts';
import { haveAllContainersExited } from '../pod-running.ts';
import { failedWith, hasFailed, mergeBackoffs, requeueDelayMs } from './sync-outcome.ts';
import type { SyncSlot } from '../scheduling/index.ts';

export class PodWorker {
  readonly uid: PodUID;
  readonly fullName: string;
  readonly isStatic: boolean;
  /** The newest spec; null: only the runtime knows the pod. */
  pod: Pod | null;
  #lifecycle: PodLifecycle;
  #forgetRequested = false;
  #closed = false;
  /** A loop of steps is under way; `#dirty`: and something arrived since its last step began. */
  #working: Promise<void> | null = null;
  #step: Promise<boolean> | null = null;
  #dirty = false;
  readonly #task: PodTaskRun;
  /** Its sync's place in the line, until that is over. */
  #turn: SyncSlot | undefined;
  readonly #view: RuntimeStatusReader;
  #hasFailed = false;
  /** Its task has ended every container; that each was seen to have ended may come later. */
  #containersEnded = false;
  /** Number of the last inspection after a task. */
  #inspectionSequence = 0;
  #backoffs: readonly ContainerBackoff[] = [];
  readonly #deps: PodWorkerDependencies;
  readonly #owner: PodWorkerOwner;
  readonly #log: Logger;

  constructor(
    identity: {
      readonly uid: PodUID;
      readonly name: string;
      readonly namespace: string;
      readonly isStatic: boolean;
      readonly pod: Pod | null;
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
    this.#view = new RuntimeStatusReader(identity.uid, dependencies);
    this.#task = new PodTaskRun(dependencies.pool, dependencies.clock);
    this.#log = dependencies.logger.child({ pod: `${identity.namespace}/${identity.name}`, podUID: identity.uid });
  }

  get lifecycle(): PodLifecycle {
    return this.#lifecycle;
  }

  /** The last task failed, and waits for nothing but the end of its back-off. */
  get hasFailed(): boolean {
    return this.#hasFailed;
  }

  /**
   * Whether the starts that a notification of this inspection reports are those of the worker's own task, which need no further sync.
   * A sidecar's start needs one: the next container follows it.
   */
  shouldIgnoreStarts(inspectionSequence: number): boolean {
    return inspectionSequence === this.#inspectionSequence && !this.pod?.spec.initContainers?.some(isRestartableInitContainer);
  }

  /** Settles when the sync that is under way has ended and its status was made; undefined: none is. */
  get syncUnderWay(): Promise<unknown> | undefined {
    return this.#lifecycle.state === 'syncing' ? (this.#step ?? undefined) : undefined;
  }

  /** Takes the event in; what is under way hears of it when it must stop or hurry. */
  apply(event: LifecycleEvent): void {
    const before = this.#lifecycle;
    const after = advance(before, event);
    if (after === before) return;
    this.#lifecycle = after;
    if (before.state !== after.state) this.#log.debug({ from: before.state, to: after.state, event: event.type }, 'Pod lifecycle moved on');
    if (after.state !== 'syncing') this.#turn?.prioritize();
    if (after.state !== 'terminating') return;
    if (before.state === 'syncing') this.#task.stop(true);
    else if (after.gracePeriodSeconds !== null) this.#task.shrinkGracePeriod(after.gracePeriodSeconds);
  }

  /** Looks at the pod now, or once more after the task that is in flight. */
  wake(): void {
    this.#dirty = true;
    if (this.#closed) return;
    this.#working ??= this.#work().finally(() => {
      this.#working = null;
    });
  }

  /** Its history may go, once it is finished and its remains are removed. */
  forget(): void {
    if (this.#forgetRequested) return;
    this.#forgetRequested = true;
    this.wake();
  }

  /** Makes the API status anew after the pleg thread has seen something: the end of its last container, for one. */
  refreshStatus(): void {
    contain({ handler: 'pod status', logger: this.#log }, () => {
      if (this.#containersEnded && haveAllContainersExited(this.#deps.cache.get(this.uid))) this.apply({ type: 'containersEnded' });
      if (this.pod && this.#lifecycle.state !== 'terminated') {
        this.#deps.statuses.regenerate(this.pod, this.#view.shown(), this.#lifecycle);
      }
    });
  }

  /** Its task is about to stop these containers and to start them again. False: it must not, one of them has ended by itself. */
  beginRestart(containers: readonly RuntimeContainerStatus[]): boolean {
    return this.#view.beginRestart(containers);
  }

  /** The runtime has ended every container, and its task goes on with the sandboxes: the pod's end is told meanwhile. */
  containersEnded(): void {
    this.#containersEnded = true;
    if (haveAllContainersExited(this.#deps.cache.get(this.uid))) this.refreshStatus();
  }

  /** Starts nothing more and stops what is under way; resolves when nothing is. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#turn?.prioritize();
    this.#task.stop(false);
    await this.#working;
  }

  async #work(): Promise<void> {
    let again = true;
    while ((again || this.#dirty) && !this.#closed) {
      this.#dirty = false;
      this.#step = this.#takeStep();
      again = await this.#step;
      this.#step = null;
    }
  }

  /** One step of the pod's life. True: the next one follows at once. */
  async #takeStep(): Promise<boolean> {
    const pod = this.#lifecycle;
    try {
      if (pod.state === 'syncing') return await this.#sync();
      if (pod.state === 'terminating') return await this.#terminate(pod);
      if (!pod.finished) return await this.#finish();
      if (this.#forgetRequested) await this.#cleanUp();
    } catch (err) {
      this.#fail(pod.state === 'syncing' ? 'sync' : 'terminating', err);
    }
    return false;
  }

  async #sync(): Promise<boolean> {
    const { pod } = this;
    if (!pod) return false;
    if (!this.#owner.mayStart(this)) return false;
    if (this.#lifecycle.state === 'syncing' && !this.#lifecycle.started) this.#countStart(pod);
    this.apply({ type: 'started' });
    const cancelFirstStatus = this.#showFirstStatusInTime(pod);
    const turn = this.#deps.scheduler?.requestSyncSlot(pod, this.#deps.cache.get(this.uid));
    this.#turn = turn;
    try {
      await turn?.granted;
      // What arrived while it stood in line is known to the sync that begins now.
      this.#dirty = false;
      return !this.#closed && (await this.#syncNow(this.pod ?? pod));
    } finally {
      cancelFirstStatus();
      this.#turn = undefined;
      turn?.release();
    }
  }

  /** The sync may stand in a queue, or wait for the runtime. Returns how to cancel. */
  #showFirstStatusInTime(pod: Pod): () => void {
    const { statuses, clock } = this.#deps;
    const isKnown = () => pod.status?.startTime !== undefined || statuses.get(this.uid) !== undefined;
    if (isKnown()) return () => {};
    // The wall clock may have been set back since.
    const waitMs = Math.min(firstStatusDelayMs, firstSeenMs(pod) + firstStatusDelayMs - clock.now());
    return clock.after(Math.max(0, waitMs), () => {
      if (!isKnown()) this.refreshStatus();
    });
  }

  async #syncNow(pod: Pod): Promise<boolean> {
    const { uid } = this;
    const runtimeHandler = pod.spec.runtimeClassName ? await this.#deps.runtimeHandler(pod) : undefined;
    const status = await this.#view.fresh();
    if (status?.failure) throw new KubeletError('FailedSync', `error determining status: ${status.failure.message}`);
    if (this.#lifecycle.state !== 'syncing') return true;
    const apiStatus = this.#deps.statuses.regenerate(pod, status, this.#lifecycle);
    if (isTerminalPhase(apiStatus.phase)) {
      this.apply({ type: 'completed' });
      return true;
    }
    this.#owner.onStatus(this, apiStatus);
    if (this.#lifecycle.state !== 'syncing') return true;
    const result = await this.#task.run({
      kind: 'sync',
      podUID: uid,
      node: this.#deps.node(),
      pod,
      status,
      dependenciesReady: this.#deps.dependenciesReady?.(pod) ?? true,
      volumesMounted: this.#deps.volumes.areAllMounted(uid),
      apiStatus,
      backoffs: this.#backoffs,
      ...(runtimeHandler && { runtimeHandler }),
    });
    this.#view.taskEnded();
    this.#backoffs = mergeBackoffs(this.#backoffs, result.backoffs);
    const isNews = this.#deps.statuses.setWaitingReasons(uid, result.waiting);
    this.#settle('sync', result);
    if (result.changedRuntime) await this.#inspectAfterSync(result.created);
    // A sync that found all as it should be has said nothing new; what the runtime does meanwhile, the pleg thread tells.
    if (isNews || result.changedRuntime) this.refreshStatus();
    if (result.outcome === 'failed') this.#deps.statuses.expedite(uid);
    return this.#lifecycle.state !== 'syncing' || isTerminalPhase(this.#deps.statuses.get(uid)?.phase);
  }

  /** Brings the status up to date. When this fails, the next step inspects again. */
  async #inspectAfterSync(created: CreatedObjects | undefined): Promise<void> {
    this.#inspectionSequence += 1;
    try {
      await this.#view.inspect(created, this.#inspectionSequence);
    } catch (err) {
      this.#log.debug({ err }, 'Could not inspect the pod after its sync');
    }
  }

  #countStart(pod: Pod): void {
    const seenAtMs = firstSeenMs(pod);
    containersPerPod.observe(pod.spec.containers.length);
    if (seenAtMs > 0) podWorkerStartDuration.observe(Math.max(0, this.#deps.clock.now() - seenAtMs) / 1000);
  }

  async #terminate(lifecycle: PodLifecycle & { state: 'terminating' }): Promise<boolean> {
    const { pod, uid } = this;
    let status = await this.#view.fresh();
    // Of one that was never started the next word is the last.
    if (lifecycle.started || status) this.refreshStatus();
    // Read again: it may have shrunk since the step began.
    const { gracePeriodSeconds } = this.#lifecycle as typeof lifecycle;
    if (status) {
      const result = await this.#task.run({ kind: 'terminating', podUID: uid, node: this.#deps.node(), pod, status, gracePeriodSeconds });
      if (result.outcome !== 'synced') {
        this.#settle('terminating', result);
        return false;
      }
      this.#view.expire();
      status = await this.#view.inspect(result.created);
      if (status?.failure)
        throw new KubeletError('FailedKillPod', `error killing pod: unable to read its final status: ${status.failure.message}`);
      const running = status?.containers.filter(({ state }) => state === 'running') ?? [];
      if (running.length > 0) {
        const ids = running.map(({ name, id }) => `${name} (${id})`).join(', ');
        throw new KubeletError('FailedKillPod', `error killing pod: containers still run after the runtime stopped them: ${ids}`);
      }
    }
    this.apply({ type: 'containersStopped' });
    if (pod) this.#deps.statuses.regenerate(pod, status, this.#lifecycle);
    this.#log.info('Pod has terminated: none of its containers runs any more');
    this.#owner.onTerminated(this);
    return true;
  }

  async #finish(): Promise<boolean> {
    const { pod, uid } = this;
    if (pod) {
      const result = await this.#task.run({
        kind: 'terminated',
        podUID: uid,
        node: this.#deps.node(),
        pod,
        status: this.#deps.cache.get(uid),
      });
      if (result.outcome !== 'synced') {
        this.#settle('terminated', result);
        return false;
      }
    }
    this.apply({ type: 'cleanedUp' });
    if (pod) this.#deps.statuses.markFinished(pod, this.#deps.cache.get(uid), this.#lifecycle);
    this.#owner.onFinished(this);
    return false;
  }

  async #cleanUp(): Promise<void> {
    const result = await this.#task.run({ kind: 'cleanUp', podUID: this.uid, node: this.#deps.node() });
    if (result.outcome === 'synced') {
      this.#closed = true;
      this.#owner.onCleanedUp(this);
    } else {
      this.#settle('cleanUp', result);
    }
  }

  /** A failure of main's own. One that nobody expected is shown in the pod's status too. Never throws: it ends the pod's step. */
  #fail(kind: PodTask['kind'], err: unknown): void {
    const context = { handler: 'pod worker', logger: this.#log };
    const { pod } = this;
    const result = failedWith(err);
    if (!(err instanceof KubeletError)) {
      reportFault(context, err);
      if (pod) contain(context, () => this.#deps.statuses.setFailedSync(pod, result.failure.message));
    }
    contain(context, () => this.#settle(kind, result, 'main'));
  }

  /** The one place where a result becomes log line, event and next look. */
  #settle(kind: PodTask['kind'], result: PodSyncResult, failedIn: 'task' | 'main' = 'task'): void {
    const { policy, clock, random, workQueue, events, onFailure, statuses } = this.#deps;
    this.#hasFailed = hasFailed(result);
    if (result.changedRuntime) this.#view.expire();
    if (this.#closed) return;
    const delayMs = requeueDelayMs(kind, result, policy, clock.now(), random());
    workQueue.enqueue(this.uid, delayMs);
    if (result.outcome !== 'failed') return;
    if (this.#hasFailed) onFailure();
    // The sync could not even begin: the pod may have no status yet.
    if (failedIn === 'main' && statuses.get(this.uid) === undefined) this.refreshStatus();
    const { reason, message } = result.failure;
    this.#log.warn({ task: kind, reason, err: message, retryAfterMs: Math.round(delayMs) }, 'Error syncing pod, will try again');
    // A task records the events of what it did itself, but for what it did not expect, and for what keeps an ended pod from going.
    if (this.pod && (failedIn === 'main' || reason === 'FailedSync' || reason === 'FailedCleanUp')) {
      events.record({ object: podReference(this.pod), type: 'Warning', reason, message });
    }
  }
}
