/**
 * Container garbage collection (upstream pkg/kubelet/kuberuntime/kuberuntime_gc.go): removes dead containers above the limits, dead
 * sandboxes, and log directories of deleted pods. A failure to remove one container or sandbox is logged and the collection continues;
 * the next collection retries.
 */
import type { ContainerGcRequest } from '../../../shared/contracts/images.ts';
import { forEachParallel } from '../../../shared/concurrency/for-each-parallel.ts';
import { KubeletError, messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { ContainerID, SandboxID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { containersRemoved } from '../../../shared/metrics/definitions/images.ts';
import type { RuntimeSnapshotReader } from '../../../shared/state/runtime-snapshot.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import { parallelRemovals, type ContainerRemover } from './container-remover.ts';
import { removeDeadLogSymlinks, removePodLogDirectories } from './log-gc.ts';
import { podLogsRemovable, containersToRemove, sandboxesToRemove } from './select-garbage.ts';

export interface ContainerGCOptions {
  readonly snapshot: Pick<RuntimeSnapshotReader, 'all' | 'relistedAtMs'>;
  readonly remover: ContainerRemover;
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ContainerGC {
  readonly #options: ContainerGCOptions;
  #lastCollection: Promise<unknown> = Promise.resolve();

  constructor(options: ContainerGCOptions) {
    this.#options = options;
  }

  /**
   * Collections run one after another, so each sees the result of the previous one. Rejects when the collection of logs fails, which is
   * its last step.
   */
  garbageCollect(request: ContainerGcRequest): Promise<{ removedContainers: number; removedSandboxes: number }> {
    const result = this.#lastCollection.then(() => this.#collect(request));
    this.#lastCollection = result.catch(() => {});
    return result;
  }

  /** Removes containers that main no longer needs, whatever the limits. Never rejects. */
  async removeContainers(ids: readonly ContainerID[]): Promise<void> {
    const { remover, logger } = this.#options;
    await forEachParallel(ids, parallelRemovals, async (id) => {
      try {
        await remover.removeContainer(id);
      } catch (err) {
        logger.warn({ err, containerID: id }, 'Failed to remove container; garbage collection will retry');
      }
    });
  }

  async #collect(request: ContainerGcRequest): Promise<{ removedContainers: number; removedSandboxes: number }> {
    const { snapshot, remover, podLogsDir, containerLogsDir, clock } = this.#options;
    // Before the first relist the snapshot does not show which containers exist.
    if (snapshot.relistedAtMs === 0) return { removedContainers: 0, removedSandboxes: 0 };
    const items = [...snapshot.all()];
    const containers = await this.#removeEach(containersToRemove(items, request, clock.now()), 'container', ({ id }) =>
      remover.removeContainer(id as ContainerID),
    );
    const sandboxes = await this.#removeEach(sandboxesToRemove(items, containers, request), 'sandbox', async ({ id }) => {
      await remover.removeSandbox(id as SandboxID);
      return true;
    });
    const notExited = items.filter(({ kind, state }) => kind === 'container' && state !== 'exited').map(({ id }) => id as string);
    try {
      if (request.allSourcesReady) {
        const removed = await removePodLogDirectories(podLogsDir, podLogsRemovable(snapshot.all(), request), request.requestedAtMs);
        containersRemoved.inc({ kind: 'logs' }, removed);
      }
      await removeDeadLogSymlinks(containerLogsDir, podLogsDir, notExited);
    } catch (err) {
      // Errors cross to main without their cause, so the message includes the cause.
      throw new KubeletError('ContainerGCFailed', `failed to remove logs of deleted pods:  ${messageOf(err)}`);
    }
    return { removedContainers: containers.size, removedSandboxes: sandboxes.size };
  }

  /** Returns the IDs of the removed items. */
  async #removeEach<T extends { readonly id: string; readonly podUID: string }>(
    items: readonly T[],
    kind: 'container' | 'sandbox',
    remove: (item: T) => Promise<boolean>,
  ): Promise<Set<string>> {
    const removed = new Set<string>();
    await forEachParallel(items, parallelRemovals, async (item) => {
      try {
        if (await remove(item)) removed.add(item.id);
      } catch (err) {
        this.#options.logger.warn(
          { err, kind, id: item.id, podUID: item.podUID },
          kind === 'container' ? 'Failed to remove container' : 'Failed to remove sandbox',
        );
      }
    });
    containersRemoved.inc({ kind }, removed.size);
    return removed;
  }
}
