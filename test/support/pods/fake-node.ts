/**
 * A node that runs pods without threads: the parts that src/main/wiring starts, with a pool whose tasks end when the test completes them, and a runtime in memory
 * that the tasks change. `node.task(kind)` returns the task in flight; `node.completeTask(task)` applies the effect of the task to the runtime and
 * ends the task. The node admits every pod unless `rejection` is set. Its counterpart is src/main/kubelet.ts.
 */
import type { AllocatedPod } from '../../../src/main/allocation/index.ts';
import type { PodTask } from '../../../src/main/threads/task-channel.ts';
import type { PodSyncResult } from '../../../src/shared/contracts/pod-sync/result.ts';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { settle } from '../fake-clock.ts';
import { startFakeParts, type FakeAdmission, type FakeParts } from './fake-parts.ts';
import { aPod } from './pods.ts';
import { FakeEnvironment, type FakeTask } from './fake-environment.ts';

/** A static pod of the file source. */
export function aStaticPod(uid: string, name = uid): AllocatedPod {
  return aPod({ metadata: { name, uid } });
}

/** Use `FakeNode.start`. */
export class FakeNode extends FakeEnvironment {
  #parts!: FakeParts;

  static async start(admission: FakeAdmission = {}): Promise<FakeNode> {
    const node = new FakeNode();
    node.#parts = await startFakeParts(node, admission);
    return node;
  }

  get workers() {
    return this.#parts.workers;
  }

  get handlers() {
    return this.#parts.podHandlers;
  }

  get housekeeping() {
    return this.#parts.housekeeping;
  }

  get statuses() {
    return this.#parts.statuses;
  }

  get podStates() {
    return this.#parts.podStates;
  }

  get podManager() {
    return this.#parts.podManager;
  }

  get probes() {
    return this.#parts.probes;
  }

  get timelines() {
    return this.#parts.timelines;
  }

  get allocationManager() {
    return this.#parts.allocationManager;
  }

  readonly runHousekeeping = async (): Promise<void> => {
    this.#parts.handlers.housekeep();
    await settle();
  };

  /** Returns the one task in flight of this kind (and pod). */
  task(kind: PodTask['kind'], uid?: string): FakeTask {
    const found = this.tasks.filter(({ task }) => task.kind === kind && (uid === undefined || task.podUID === uid));
    if (found.length !== 1) throw new Error(`${found.length} ${kind} tasks are in flight; started: ${this.startedTasks.join(', ')}`);
    return found[0]!;
  }

  /** Ends the task as synced, or with another result. */
  async completeTask(task: FakeTask, result: Partial<PodSyncResult> = {}): Promise<void> {
    const report = { outcome: 'synced', waiting: {}, backoffs: [], changedRuntime: true, ...result } as PodSyncResult;
    if (report.outcome === 'synced') this.applyEffect(task.task);
    this.tasks = this.tasks.filter((other) => other !== task);
    task.resolve(report);
    await settle();
  }

  /** Adds a wanted pod and starts its worker. */
  async add(pod: Pod): Promise<void> {
    void this.handlers.add([pod]);
    await settle();
  }

  /** Adds the pod and completes its first sync. */
  async addRunningPod(pod: Pod = aStaticPod('web')): Promise<Pod> {
    await this.add(pod);
    await this.completeTask(this.task('sync'));
    return pod;
  }

  async remove(pod: Pod): Promise<void> {
    this.handlers.remove([pod]);
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
}
