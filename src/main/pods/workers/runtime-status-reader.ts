/**
 * Reads a pod's runtime status for its worker: from main's cache if the cache is newer than the last task that changed the runtime, else by an
 * inspection. Upstream: GetNewerThan in pkg/kubelet/container/cache.go, where a worker waits for the next relist.
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
  /** Monotonic ms. A status in the cache that was observed earlier is outdated. */
  #validAfterMs = -Infinity;
  readonly #restarts = new ContainerRestarts();

  constructor(uid: PodUID, dependencies: Pick<PodWorkerDependencies, 'cache' | 'inspectPod' | 'clock'>) {
    this.#uid = uid;
    this.#deps = dependencies;
  }

  /** Outdates the cached status: a task has changed the runtime. */
  invalidate(): void {
    this.#validAfterMs = this.#deps.clock.monotonic();
  }

  beginRestart(containers: readonly RuntimeContainerStatus[]): boolean {
    return this.#restarts.begin(containers, this.#deps.cache.get(this.#uid));
  }

  onTaskEnded(): void {
    this.#restarts.onTaskEnded(this.#deps.clock.monotonic());
  }

  /** Returns the last known status for the API status. */
  statusToPublish(): RuntimePodStatus | null {
    const { cache } = this.#deps;
    return this.#restarts.statusToPublish(cache.get(this.#uid), (monotonicMs) => cache.isNewerThan(this.#uid, monotonicMs));
  }

  /** Returns null when the runtime has nothing of the pod. Rejects with FailedSync when the runtime does not answer. */
  async getLatest(): Promise<RuntimePodStatus | null> {
    const { cache } = this.#deps;
    if (!cache.isNewerThan(this.#uid, this.#validAfterMs)) return this.inspect();
    const status = cache.get(this.#uid);
    return status && isOnlyListed(status) && !status.failure ? this.inspect(noCreatedObjects) : status;
  }

  /** Inspects the pod now. `created` has all new objects of the pod, where they are known. */
  async inspect(created?: CreatedObjects): Promise<RuntimePodStatus | null> {
    const { cache, inspectPod } = this.#deps;
    try {
      await inspectPod(this.#uid, created);
    } catch (err) {
      throw new KubeletError('FailedSync', 'error determining status', { cause: err });
    }
    return cache.get(this.#uid);
  }
}
