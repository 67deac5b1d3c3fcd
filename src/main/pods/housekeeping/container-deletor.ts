/**
 * Removes superfluous dead containers of a pod when one of its containers starts or dies. containers-to-delete.ts selects them, and the images
 * thread removes them. Container garbage collection removes the rest. Upstream: podContainerDeletor.
 */
import type { ContainerID, PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { containersToDelete } from './containers-to-delete.ts';
import type { RuntimeStatusCache } from '../runtime-status-cache.ts';

export interface ContainerDeletorDependencies {
  readonly cache: Pick<RuntimeStatusCache, 'get'>;
  /** True when none of the pod's containers must be kept. */
  readonly shouldContentBeRemoved: (uid: PodUID) => boolean;
  /** The promise must always settle. */
  readonly removeContainers: (ids: readonly ContainerID[]) => Promise<void>;
  /** --maximum-dead-containers-per-container. At least one is kept for its logs and its last state. */
  readonly maxDeadPerContainer: number;
  readonly logger: Logger;
}

export class ContainerDeletor {
  readonly #deps: ContainerDeletorDependencies;

  constructor(dependencies: ContainerDeletorDependencies) {
    this.#deps = dependencies;
  }

  /** Called when a container has started or died. Does not wait for the removal. */
  deleteContainersInPod(uid: PodUID, changed: ContainerID): void {
    const { cache, shouldContentBeRemoved, removeContainers, maxDeadPerContainer, logger } = this.#deps;
    const status = cache.get(uid);
    if (!status) return;
    const ids = containersToDelete(status, changed, {
      maxDeadPerContainer: Math.max(1, maxDeadPerContainer),
      removeAll: shouldContentBeRemoved(uid),
    });
    if (ids.length === 0) return;
    removeContainers(ids).catch((err: unknown) => logger.warn({ err, podUID: uid }, 'Could not remove dead containers'));
  }
}
