/** What surrounds the parts of a FakeNode: its time, its runtime, the tasks in flight, and what a test sets and observes. */
import type { StatusUpdateSink } from '../../../src/main/pods/api-status/index.ts';
import { PodLifecycleObservers } from '../../../src/main/pods/lifecycle/pod-lifecycle-observers.ts';
import { RuntimeStatusCache } from '../../../src/main/pods/runtime-status-cache.ts';
import type { PodTask, TaskHandlers } from '../../../src/main/threads/task-channel.ts';
import type { ContainerGcRequest } from '../../../src/shared/contracts/images.ts';
import type { RecordedEvent } from '../../../src/shared/contracts/event.ts';
import type { PodSyncResult } from '../../../src/shared/contracts/pod-sync/result.ts';
import type { RuntimePodStatus } from '../../../src/shared/contracts/runtime-status.ts';
import type { ContainerID, PodUID } from '../../../src/shared/kubernetes/ids.ts';
import type { Clock } from '../../../src/shared/time/clock.ts';
import { FakeClock } from '../fake-clock.ts';
import { aLogger } from '../logger.ts';
import { anExitedContainer, aRuntimeContainer, aRuntimePodStatus, aSandbox } from './pods.ts';

export interface FakeTask {
  readonly task: PodTask;
  stopped: boolean;
  readonly graceShrunkTo: number[];
  readonly resolve: (result: PodSyncResult) => void;
}

export class FakeEnvironment {
  readonly clock = new FakeClock();
  /** Advances with each reading, as the real clock does: an observation before a change is older than the change. */
  #readings = 0;
  readonly advancingClock: Clock = {
    now: () => this.clock.now(),
    monotonic: () => this.clock.monotonic() + (this.#readings += 1e-6),
    sleep: (ms, signal) => this.clock.sleep(ms, signal),
    after: (ms, callback) => this.clock.after(ms, callback),
  };
  readonly logs = aLogger();
  readonly cache = new RuntimeStatusCache();
  readonly podLifecycle = new PodLifecycleObservers(this.logs.logger);
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
  /** Requests for inspections. */
  inspected: PodUID[] = [];
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
  sourcesReady = true;
  /** While set, every new pod is rejected. */
  rejection: { readonly reason: string; readonly message: string } | null = null;
  /** Requests to collect dead containers. */
  readonly collected: ContainerGcRequest[] = [];
  /** While set, the collection of dead containers fails with this error. */
  gcError: Error | null = null;
  removedContainers = 0;
  podDirectories: PodUID[] = [];
  podCgroups: PodUID[] = [];
  /** What tasks call. */
  taskHandlers!: TaskHandlers;

  constructor() {
    this.cache.apply({ relistedAtMs: -1, statuses: [], removed: [], events: [] });
  }

  /** The answer of the pleg thread. */
  async inspect(uid: PodUID): Promise<void> {
    this.inspected.push(uid);
    if (this.inspectError) throw this.inspectError;
    await this.beforeInspection();
    const status = this.runtime.get(uid);
    const statuses = status ? [{ ...status, observedAtMs: this.advancingClock.monotonic() }] : [];
    this.cache.apply({ statuses, removed: status ? [] : [uid], events: [] });
  }
  /** The pool. */
  run(task: PodTask) {
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
  applyEffect(task: PodTask): void {
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
