/**
 * Removes the dead containers of a pod that are not kept, as soon as another one of it starts or dies; the rest is left to container GC. What goes is
 * decided in container-deletor.ts; the images thread removes it.
 */
import type { ContainerID, PodUID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { containersToDelete } from './containers-to-delete.ts';
import type { RuntimeStatusCache } from '../runtime-status-cache.ts';

export interface ContainerDeletorDependencies {
  readonly cache: Pick<RuntimeStatusCache, 'get'>;
  /** Nobody will ask for the pod's containers again. */
  readonly shouldContentBeRemoved: (uid: PodUID) => boolean;
  /** Must settle. */
  readonly removeContainers: (ids: readonly ContainerID[]) => Promise<void>;
  /** --maximum-dead-containers-per-container; one is kept at least, for its logs and its last state. */
  readonly keep: number;
  readonly logger: Logger;
}

export class ContainerDeletor {
  readonly #deps: ContainerDeletorDependencies;

  constructor(dependencies: ContainerDeletorDependencies) {
    this.#deps = dependencies;
  }

  /** A container has started or died. The removal is begun and not waited for. */
  deleteContainersInPod(uid: PodUID, changed: ContainerID): void {
    const { cache, shouldContentBeRemoved, removeContainers, keep, logger } = this.#deps;
    const status = cache.get(uid);
    if (!status) return;
    const ids = containersToDelete(status, changed, { keep: Math.max(1, keep), removeAll: shouldContentBeRemoved(uid) });
    if (ids.length === 0) return;
    removeContainers(ids).catch((err: unknown) => logger.warn({ err, podUID: uid }, 'Could not remove dead containers'));
  }
}
