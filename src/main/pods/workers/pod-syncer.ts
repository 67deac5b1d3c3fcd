/**
 * The syncs of one pod, one per lifecycle state: each runs one task in the sync pool and applies its result to the pod's lifecycle and status.
 * Upstream: main's part of SyncPod, SyncTerminatingPod and SyncTerminatedPod in pkg/kubelet/kubelet.go.
 */
import type { ContainerBackoff, CreatedObjects, PodSyncResult } from '../../../shared/contracts/pod-sync/result.ts';
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import type { Pod } from '../../../shared/kubernetes/api.ts';
import type { AllocatedPod } from '../../allocation/index.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { isTerminalPhase } from '../../../shared/kubernetes/pod-phase.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { PodTask } from '../../threads/task-channel.ts';
import { isPodRunning } from '../pod-running.ts';
import type { LifecycleEvent, PodLifecycle } from '../lifecycle/pod-lifecycle.ts';
import type { PodTaskRunner } from './pod-task-runner.ts';
import type { PodIdentity, PodWorkerDependencies, PodWorkerOwner } from './pod-worker-dependencies.ts';
import type { RuntimeStatusReader } from './runtime-status-reader.ts';
import { mergeBackoffs } from './sync-outcome.ts';
import type { WorkCompletion } from './work-completion.ts';

/** The worker whose pod is synced. */
export interface SyncedPod extends PodIdentity {
  readonly lifecycle: PodLifecycle;
  apply(event: LifecycleEvent): void;
  refreshStatus(): void;
}

export interface PodSyncerOptions {
  readonly worker: SyncedPod;
  readonly owner: PodWorkerOwner;
  readonly dependencies: PodWorkerDependencies;
  readonly reader: RuntimeStatusReader;
  readonly tasks: PodTaskRunner;
  readonly completion: WorkCompletion;
  readonly log: Logger;
}

export class PodSyncer {
  readonly #uid: PodUID;
  readonly #worker: SyncedPod;
  readonly #owner: PodWorkerOwner;
  readonly #deps: PodWorkerDependencies;
  readonly #reader: RuntimeStatusReader;
  readonly #tasks: PodTaskRunner;
  readonly #completion: WorkCompletion;
  readonly #log: Logger;
  #isInspectingAfterSync = false;
  #backoffs: readonly ContainerBackoff[] = [];
  #hasFailed = false;

  constructor({ worker, owner, dependencies, reader, tasks, completion, log }: PodSyncerOptions) {
    this.#uid = worker.uid;
    this.#worker = worker;
    this.#owner = owner;
    this.#deps = dependencies;
    this.#reader = reader;
    this.#tasks = tasks;
    this.#completion = completion;
    this.#log = log;
  }

  /**
   * Between the request for the inspection after a task and its answer. Nothing starts containers meanwhile, so the starts in notifications that
   * arrive before the answer are those of the task.
   */
  get isInspectingAfterSync(): boolean {
    return this.#isInspectingAfterSync;
  }

  /** Returns whether the next step follows at once. */
  async syncPod(pod: AllocatedPod): Promise<boolean> {
    const uid = this.#uid;
    const { statuses } = this.#deps;
    const runtimeHandler = pod.spec.runtimeClassName ? await this.#deps.runtimeHandler(pod) : undefined;
    const status = await this.#reader.getLatest();
    if (status?.failure) throw new KubeletError('FailedSync', `error determining status: ${status.failure.message}`);
    if (this.#worker.lifecycle.state !== 'syncing') return true;
    this.#deps.observers.observed(pod, status);
    const apiStatus = statuses.regenerate(pod, status, this.#worker.lifecycle);
    if (isTerminalPhase(apiStatus.phase)) {
      this.#worker.apply({ type: 'completed' });
      return true;
    }
    this.#deps.observers.syncing(this.#worker.pod ?? pod, apiStatus);
    if (this.#worker.lifecycle.state !== 'syncing') return true;
    // The exclusive resources of the pod, such as devices. After a restart of the kubelet they may be those that the runtime reports.
    const allocation = await this.#deps.exclusiveAllocations.restore(pod, { status, runtimeHandler });
    if (this.#worker.lifecycle.state !== 'syncing') return true;
    const actuated = this.#deps.allocation.actuated(uid);
    const probes = this.#deps.probes.verdicts(pod);
    const unfinishedHooks = this.#deps.probes.hooks.onSyncStarted(pod, status);
    const result = await this.#tasks.run({
      kind: 'sync',
      podUID: uid,
      node: this.#deps.node(),
      pod,
      status,
      dependenciesReady: this.#deps.dependenciesReady(pod),
      volumesMounted: this.#deps.volumes.areAllMounted(uid),
      isRetry: this.#hasFailed,
      apiStatus,
      backoffs: this.#backoffs,
      ...(probes && { probes }),
      ...(unfinishedHooks.length > 0 && { unfinishedHooks }),
      ...(runtimeHandler && { runtimeHandler }),
      ...(allocation && { allocation }),
      ...(actuated && { actuated }),
    });
    this.#reader.onTaskEnded();
    this.#deps.probes.hooks.onSyncEnded(uid);
    this.#backoffs = mergeBackoffs(this.#backoffs, result.backoffs);
    const isWaitingChanged = statuses.setWaitingReasons(uid, result.waiting);
    const isCgroupChanged = result.podCgroup !== undefined && statuses.setPodCgroup(uid, result.podCgroup);
    this.#completion.complete('sync', result);
    if (result.changedRuntime) await this.#inspectAfterSync(result.created);
    if (result.resizeError !== undefined) this.#deps.observers.resizeFailed(pod, result.resizeError);
    else if (result.changedRuntime) this.#deps.observers.observed(pod, this.#deps.cache.get(uid));
    // A sync without an effect changes no status; other changes in the runtime arrive from the pleg thread.
    if (isWaitingChanged || isCgroupChanged || result.changedRuntime) this.#worker.refreshStatus();
    if (result.outcome === 'failed') {
      this.#hasFailed = true;
      statuses.expedite(uid);
    }
    return this.#worker.lifecycle.state !== 'syncing' || isTerminalPhase(statuses.get(uid)?.phase);
  }

  /** Brings the status up to date. When this fails, the next step inspects again. */
  async #inspectAfterSync(created: CreatedObjects | undefined): Promise<void> {
    this.#isInspectingAfterSync = true;
    try {
      await this.#reader.inspect(created);
    } catch (err) {
      this.#log.debug({ err }, 'Could not inspect the pod after its sync');
    } finally {
      this.#isInspectingAfterSync = false;
    }
  }

  /** Returns whether the next step follows at once. */
  async syncTerminatingPod(lifecycle: PodLifecycle & { state: 'terminating' }): Promise<boolean> {
    const uid = this.#uid;
    const { pod } = this.#worker;
    let status = await this.#reader.getLatest();
    // A pod that never started gets only its final status.
    if (lifecycle.started || status) this.#worker.refreshStatus();
    // The grace period may have shrunk since this step began.
    const { gracePeriodSeconds } = this.#worker.lifecycle as typeof lifecycle;
    if (status) {
      const result = await this.#run({ kind: 'terminating', podUID: uid, node: this.#deps.node(), pod, status, gracePeriodSeconds });
      if (!result) return false;
      this.#reader.invalidate();
      status = await this.#reader.inspect(result.created);
      if (status?.failure)
        throw new KubeletError('FailedKillPod', `error killing pod: unable to read its final status: ${status.failure.message}`);
      const running = status?.containers.filter(({ state }) => state === 'running') ?? [];
      if (running.length > 0) {
        const ids = running.map(({ name, id }) => `${name} (${id})`).join(', ');
        throw new KubeletError('FailedKillPod', `error killing pod: containers still run after the runtime stopped them: ${ids}`);
      }
    }
    this.#worker.apply({ type: 'containersStopped' });
    if (pod) this.#deps.statuses.regenerate(pod, status, this.#worker.lifecycle);
    this.#log.info('Pod has terminated: none of its containers runs any more');
    this.#owner.onTerminated(this.#worker);
    return true;
  }

  async syncTerminatedPod(): Promise<void> {
    const { pod } = this.#worker;
    const { cache, statuses } = this.#deps;
    if (pod && !(await this.#cleanUpTerminated(pod))) return;
    this.#worker.apply({ type: 'finished' });
    if (pod) statuses.markFinished(pod, cache.get(this.#uid), this.#worker.lifecycle);
    this.#owner.onFinished(this.#worker);
  }

  /** Terminates what the runtime has created for a finished pod, and cleans up again. Returns whether nothing is left. */
  async syncLeftovers(): Promise<boolean> {
    const uid = this.#uid;
    const { pod } = this.#worker;
    // The worker of a pod that only the runtime knew is forgotten next. Housekeeping then finds the sandbox, directory and cgroup as those of an unknown pod.
    if (!pod) return true;
    const status = await this.#reader.getLatest();
    this.#log.info({ isRunning: isPodRunning(status) }, 'The runtime has made something of a pod after its end, removing');
    if (status && isPodRunning(status)) {
      const result = await this.#run({ kind: 'terminating', podUID: uid, node: this.#deps.node(), pod, status, gracePeriodSeconds: null });
      if (!result) return false;
      this.#reader.invalidate();
      if (isPodRunning(await this.#reader.inspect(result.created)))
        throw new KubeletError('FailedKillPod', 'error killing pod: it still runs after the runtime has stopped it');
    }
    return this.#cleanUpTerminated(pod);
  }

  async #cleanUpTerminated(pod: Pod): Promise<boolean> {
    const { cache, node } = this.#deps;
    return (await this.#run({ kind: 'terminated', podUID: this.#uid, node: node(), pod, status: cache.get(this.#uid) })) !== null;
  }

  /** Returns null when the task has not succeeded: the worker retries. */
  async #run(task: PodTask): Promise<PodSyncResult | null> {
    const result = await this.#tasks.run(task);
    if (result.outcome === 'synced') return result;
    this.#completion.complete(task.kind, result);
    return null;
  }
}
