/**
 * A node with pod workers and without threads: a pool whose tasks end when the test completes them, and a runtime in memory that the tasks change.
 * `node.task(kind)` returns the task in flight; `node.completeTask(task)` applies the effect of the task to the runtime and ends the task.
 */
import { asAllocated, type AllocatedPod } from '../../../src/main/allocation/index.ts';
import { RuntimeStatusCache } from '../../../src/main/pods/runtime-status-cache.ts';
import { ActivePods } from '../../../src/main/pods/active-pods.ts';
import { PodManager } from '../../../src/main/pods/pod-manager.ts';
import { ApiStatusCache, type StatusUpdateSink } from '../../../src/main/pods/api-status/index.ts';
import { PodWorkers } from '../../../src/main/pods/workers/pod-workers.ts';
import { PodLifecycleObservers } from '../../../src/main/pods/lifecycle/pod-lifecycle-observers.ts';
import { PodStates } from '../../../src/main/pods/lifecycle/pod-states.ts';
import { standaloneRuntimeHandler } from '../../../src/main/objects/runtime-class-manager.ts';
import { MountedVolumes } from '../../../src/main/pods/mounted-volumes.ts';
import { Listeners } from '../../../src/shared/concurrency/listeners.ts';
import { WorkQueue } from '../../../src/shared/concurrency/work-queue.ts';
import { ProbeManager } from '../../../src/main/probes/index.ts';
import type { PodTask } from '../../../src/main/threads/task-channel.ts';
import type { RecordedEvent } from '../../../src/shared/contracts/event.ts';
import type { PodSyncResult } from '../../../src/shared/contracts/pod-sync/result.ts';
import type { RuntimePodStatus } from '../../../src/shared/contracts/runtime-status.ts';
import type { NodeInfo } from '../../../src/shared/contracts/node-info.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { ContainerID, PodUID } from '../../../src/shared/kubernetes/ids.ts';
import type { Clock } from '../../../src/shared/time/clock.ts';
import { FakeClock, settle } from '../fake-clock.ts';
import { aLogger } from '../logger.ts';
import { anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus, aSandbox } from './pods.ts';
import { statusFeaturesWith } from './status-features.ts';

const resources = { milliCPU: 2000, memoryBytes: 4e9, ephemeralStorageBytes: 1e10, pods: 110 };
const facts: NodeInfo = {
  nodeName: 'node-1',
  hostname: 'node-1',
  hostIPs: ['192.0.2.1'],
  capacity: resources,
  allocatable: resources,
  runtimeName: 'containerd',
  runtimeVersion: '2.0.0',
  networkReady: true,
  networkNotReadyMessage: '',
  runtimeHandlers: [],
};

export interface FakeTask {
  readonly task: PodTask;
  stopped: boolean;
  readonly graceShrunkTo: number[];
  readonly resolve: (result: PodSyncResult) => void;
}

/** A static pod of the file source. */
export function aStaticPod(uid: string, name = uid): AllocatedPod {
  return aPod({ metadata: { name, uid } });
}

export class FakeNode {
  readonly clock = new FakeClock();
  /** Advances with each reading, as the real clock does: an observation before a change is older than the change. */
  #readings = 0;
  readonly #advancingClock: Clock = {
    now: () => this.clock.now(),
    monotonic: () => this.clock.monotonic() + (this.#readings += 1e-6),
    sleep: (ms, signal) => this.clock.sleep(ms, signal),
    after: (ms, callback) => this.clock.after(ms, callback),
  };
  readonly logs = aLogger();
  readonly cache = new RuntimeStatusCache();
  readonly podManager = new PodManager();
  readonly events: RecordedEvent[] = [];
  /** Counts failed tasks and inspections. */
  failures = 0;
  /** Pods whose containers have ended before their sandboxes. */
  readonly ended: PodUID[] = [];
  readonly finished: PodUID[] = [];
  readonly forgotten: PodUID[] = [];
  /** `sync web`, `terminating web`, … in the order in which they started. */
  readonly startedTasks: string[] = [];
  /** Tasks in flight. */
  tasks: FakeTask[] = [];
  readonly runtime = new Map<PodUID, RuntimePodStatus>();
  /** While set, inspections fail with this error. */
  inspectError: Error | null = null;
  /** Inspections wait for this. */
  beforeInspection: () => Promise<void> = async () => {};
  /** While set, sync slots are granted when this resolves. */
  slotGranted: Promise<void> | null = null;
  /** Receives the status updates. */
  sink: StatusUpdateSink | null = null;
  /** Counts prioritized slots. */
  prioritized = 0;
  readonly probes = new ProbeManager({
    thread: { setPods: async () => {}, removePods: async () => {}, starts: new Listeners() },
    runtimeStatus: (uid) => this.cache.get(uid),
    forgetsOnRestart: false,
    gates: { H2CContainerProbe: false, GRPCContainerProbeTLS: false },
    clock: this.clock,
    logger: this.logs.logger,
  });
  readonly podLifecycle = new PodLifecycleObservers(this.logs.logger);
  readonly statuses = new ApiStatusCache({
    node: () => facts,
    probes: this.probes,
    mirrorOf: (pod) => this.podManager.mirrorOf(pod),
    features: statusFeaturesWith(),
    sink: { set: (update) => this.sink?.set(update), expedite: (uid) => this.sink?.expedite(uid), forget: (uid) => this.sink?.forget(uid) },
    clock: this.clock,
    logger: this.logs.logger,
  });
  readonly workQueue: WorkQueue = new WorkQueue({ clock: this.clock, onDue: () => this.workers.wake(this.workQueue.takeDue()) });
  sourcesReady = true;
  readonly volumes = new MountedVolumes(this.clock);
  readonly podStates = new PodStates(() => this.sourcesReady);
  readonly activePods = new ActivePods({
    podManager: this.podManager,
    podStates: this.podStates,
    statuses: this.statuses,
    allocationManager: { countedPod: asAllocated, isAdmitted: () => false },
  });
  readonly workers: PodWorkers = new PodWorkers({
    podStates: this.podStates,
    createPool: () => ({ run: (task) => this.#run(task) }),
    inspectPod: async (uid) => {
      if (this.inspectError) throw this.inspectError;
      await this.beforeInspection();
      const status = this.runtime.get(uid);
      const statuses = status ? [{ ...status, observedAtMs: this.#advancingClock.monotonic() }] : [];
      this.cache.apply({ statuses, removed: status ? [] : [uid], events: [] });
    },
    cache: this.cache,
    statuses: this.statuses,
    dispatcher: {
      requestSyncSlot: () => ({
        granted: this.slotGranted ?? Promise.resolve(),
        prioritize: () => (this.prioritized += 1),
        release: () => {},
      }),
    },
    probes: this.probes,
    workQueue: this.workQueue,
    events: { record: (event) => this.events.push(event) },
    node: () => facts,
    volumes: this.volumes,
    runtimeHandler: standaloneRuntimeHandler,
    exclusiveAllocations: { restore: async () => undefined },
    allocation: { actuated: () => undefined },
    policy: { resyncIntervalMs: 60_000, backOffMs: 10_000 },
    clock: this.#advancingClock,
    logger: this.logs.logger,
    onFailure: () => (this.failures += 1),
    random: () => 0,
    observers: this.podLifecycle,
  });

  constructor() {
    this.podLifecycle.register({
      name: 'statuses',
      rejected: (pod, why) => this.statuses.reject(pod, why),
      forgotten: (uid) => this.statuses.forget(uid),
      keepOnly: (known) => this.statuses.keepOnly(known),
    });
    this.podLifecycle.register({
      name: 'volumes',
      admitted: (pod) => this.volumes.addPod(pod),
      changed: (_, pod) => this.volumes.addPod(pod),
      terminated: (uid) => this.volumes.removeDesired(uid),
      finished: (uid) => this.volumes.removePod(uid),
    });
    this.podLifecycle.register({ name: 'work-queue', forgotten: (uid) => this.workQueue.remove(uid) });
    this.podLifecycle.register({
      name: 'test',
      containersEnded: (uid) => this.ended.push(uid),
      finished: (uid) => this.finished.push(uid),
      forgotten: (uid) => this.forgotten.push(uid),
    });
    this.cache.apply({ relistedAtMs: -1, statuses: [], removed: [], events: [] });
  }

  /** Returns the one task in flight of this kind (and pod). */
  task(kind: PodTask['kind'], uid?: string): FakeTask {
    const found = this.tasks.filter(({ task }) => task.kind === kind && (uid === undefined || task.podUID === uid));
    if (found.length !== 1) throw new Error(`${found.length} ${kind} tasks are in flight; started: ${this.startedTasks.join(', ')}`);
    return found[0]!;
  }

  /** Ends the task as synced, or with another result. */
  async completeTask(task: FakeTask, result: Partial<PodSyncResult> = {}): Promise<void> {
    const report = { outcome: 'synced', waiting: {}, backoffs: [], changedRuntime: true, ...result } as PodSyncResult;
    if (report.outcome === 'synced') this.#applyEffect(task.task);
    this.tasks = this.tasks.filter((other) => other !== task);
    task.resolve(report);
    await settle();
  }

  /** Adds a wanted pod and starts its worker. */
  async add(pod: Pod): Promise<void> {
    this.podManager.set(pod);
    this.podLifecycle.admitted(pod);
    this.workers.update(asAllocated(pod), 'create');
    await settle();
  }

  /** Adds the pod and completes its first sync. */
  async addRunningPod(pod: Pod = aStaticPod('web')): Promise<Pod> {
    await this.add(pod);
    await this.completeTask(this.task('sync'));
    return pod;
  }

  async remove(pod: Pod): Promise<void> {
    this.podManager.remove(pod.metadata.uid as PodUID);
    this.workers.remove(pod);
    await settle();
  }

  async syncKnownPods(): Promise<void> {
    this.workers.syncKnownPods(this.podManager.uids());
    await settle();
  }

  /** Completes all tasks in flight and all tasks that follow, until no task is in flight. */
  async completeAllTasks(): Promise<void> {
    for (let next = this.tasks[0]; next; next = this.tasks[0]) await this.completeTask(next);
  }

  phase(uid: string): string | undefined {
    return this.statuses.get(uid as PodUID)?.phase;
  }

  #run(task: PodTask) {
    const { promise, resolve } = Promise.withResolvers<PodSyncResult>();
    const fakeTask: FakeTask = { task, stopped: false, graceShrunkTo: [], resolve };
    this.tasks.push(fakeTask);
    this.startedTasks.push(`${task.kind} ${task.podUID}`);
    return {
      result: promise,
      stop: () => void (fakeTask.stopped = true),
      shrinkGracePeriod: (seconds: number) => void fakeTask.graceShrunkTo.push(seconds),
    };
  }

  /** Applies the effect of a successful task to the runtime. */
  #applyEffect(task: PodTask): void {
    const uid = task.podUID;
    if (task.kind === 'sync') {
      const { name, namespace } = task.pod.metadata;
      const containers = task.pod.spec.containers.map((container) =>
        aRuntimeContainer({ id: `${uid}-${container.name}` as ContainerID, name: container.name }),
      );
      if (!this.runtime.has(uid)) this.runtime.set(uid, aRuntimePodStatus({ podUID: uid, name, namespace, containers }));
    }
    const status = this.runtime.get(uid);
    if (task.kind === 'terminating' && status) {
      const containers = status.containers.map(({ id, name }) => anExitedContainer(0, { id, name }));
      this.runtime.set(uid, { ...status, containers, sandboxes: [aSandbox({ state: 'notReady' })] });
    }
    if (task.kind === 'cleanUp') this.runtime.delete(uid);
  }
}
