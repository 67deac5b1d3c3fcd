/**
 * What a pod's worker knows of its pod in the runtime: main's cache as long as that is newer than the last change that a task made, else
 * a look of its own. Upstream: the GetNewerThan of pkg/kubelet/container/cache.go, where a worker waits for the next relist.
 */
import { noCreatedObjects, type CreatedObjects } from '../../../shared/contracts/pod-sync/result.ts';
import { isOnlyListed, type RuntimeContainerStatus, type RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import { KubeletError } from '../../../shared/errors/kubelet-error.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { ContainerRestarts } from './container-restarts.ts';
import type { PodWorkerDependencies } from './pod-worker-dependencies.ts';

export class RuntimeStatusReader {
  readonly #uid: PodUID;
  readonly #deps: Pick<PodWorkerDependencies, 'cache' | 'inspectPod' | 'clock'>;
  /** Monotonic ms: only what was seen of the pod after this counts. */
  #freshAfterMs = -Infinity;
  readonly #restarts = new ContainerRestarts();

  constructor(uid: PodUID, dependencies: Pick<PodWorkerDependencies, 'cache' | 'inspectPod' | 'clock'>) {
    this.#uid = uid;
    this.#deps = dependencies;
  }

  /** The runtime was changed: what was seen before is of no use. */
  invalidate(): void {
    this.#freshAfterMs = this.#deps.clock.monotonic();
  }

  beginRestart(containers: readonly RuntimeContainerStatus[]): boolean {
    return this.#restarts.begin(containers, this.#deps.cache.get(this.#uid));
  }

  onTaskEnded(): void {
    this.#restarts.onTaskEnded(this.#deps.clock.monotonic());
  }

  /** What was last seen of the pod, as its status is to show it. */
  statusToPublish(): RuntimePodStatus | null {
    const { cache } = this.#deps;
    return this.#restarts.statusToPublish(cache.get(this.#uid), (monotonicMs) => cache.isNewerThan(this.#uid, monotonicMs));
  }

  /** What the runtime has of the pod; null: nothing. Rejects with FailedSync when it can't be asked. */
  async getLatest(): Promise<RuntimePodStatus | null> {
    const { cache } = this.#deps;
    if (!cache.isNewerThan(this.#uid, this.#freshAfterMs)) return this.inspect();
    const seen = cache.get(this.#uid);
    return seen && isOnlyListed(seen) && !seen.failure ? this.inspect(noCreatedObjects) : seen;
  }

  /** The same, asked of the runtime now. `created`: all that is new of the pod, where that is known. `sequence`: see PlegApi. */
  async inspect(created?: CreatedObjects, sequence?: number): Promise<RuntimePodStatus | null> {
    const { cache, clock, inspectPod } = this.#deps;
    const beganAtMs = clock.monotonic();
    try {
      const status = await inspectPod(this.#uid, created, sequence);
      cache.applyInspection(this.#uid, status, beganAtMs);
      return status;
    } catch (err) {
      throw new KubeletError('FailedSync', 'error determining status', { cause: err });
    }
  }
}
