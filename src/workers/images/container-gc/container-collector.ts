/**
 * Container garbage collection: dead containers beyond the limits, dead sandboxes, log folders of pods that are gone. One container or
 * sandbox that can't be removed is logged and left for the next time; the others go. Rejects when logs can't be collected, which come last.
 */
import type { ContainerGcRequest } from '../../../shared/contracts/images.ts';
import { KubeletError, messageOf } from '../../../shared/errors/kubelet-error.ts';
import type { ContainerID, SandboxID } from '../../../shared/kubernetes/ids.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { containersRemoved } from '../../../shared/metrics/definitions/images.ts';
import type { RuntimeSnapshotReader } from '../../../shared/state/runtime-snapshot.ts';
import type { Clock } from '../../../shared/time/clock.ts';
import type { ContainerRemover } from './container-remover.ts';
import { collectLogSymlinks, collectPodLogs } from './log-collector.ts';
import { logsRemovable, selectContainers, selectSandboxes } from './select-garbage.ts';

/** Removals at once: the runtime has more urgent things to do. */
const parallelism = 4;

export interface ContainerCollectorOptions {
  readonly snapshot: Pick<RuntimeSnapshotReader, 'all' | 'relistedAtMs'>;
  readonly remover: ContainerRemover;
  readonly podLogsDir: string;
  readonly containerLogsDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export class ContainerCollector {
  readonly #options: ContainerCollectorOptions;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: ContainerCollectorOptions) {
    this.#options = options;
  }

  /** One collection at a time: a second waits for the first, and sees what it left. */
  collect(request: ContainerGcRequest): Promise<{ removedContainers: number; removedSandboxes: number }> {
    const result = this.#running.then(() => this.#collect(request));
    this.#running = result.catch(() => {});
    return result;
  }

  async #collect(request: ContainerGcRequest): Promise<{ removedContainers: number; removedSandboxes: number }> {
    const { snapshot, remover, podLogsDir, containerLogsDir, clock } = this.#options;
    // Before the first relist an absent container says nothing.
    if (snapshot.relistedAtMs === 0) return { removedContainers: 0, removedSandboxes: 0 };
    const items = [...snapshot.all()];
    const containers = await this.#each(selectContainers(items, request, clock.now()), 'container', ({ id }) =>
      remover.removeContainer(id as ContainerID),
    );
    const sandboxes = await this.#each(selectSandboxes(items, containers, request), 'sandbox', async ({ id }) => {
      await remover.removeSandbox(id as SandboxID);
      return true;
    });
    const isRunning = new Set(items.filter(({ kind, state }) => kind === 'container' && state !== 'exited').map(({ id }) => id as string));
    try {
      if (request.allSourcesReady) {
        const removed = await collectPodLogs(podLogsDir, logsRemovable(snapshot.all(), request), request.requestedAtMs);
        containersRemoved.inc({ kind: 'logs' }, removed);
      }
      await collectLogSymlinks(containerLogsDir, podLogsDir, (id) => isRunning.has(id));
    } catch (err) {
      // The message alone crosses to main.
      throw new KubeletError('ContainerGCFailed', `failed to collect logs of pods that are gone: ${messageOf(err)}`);
    }
    return { removedContainers: containers.size, removedSandboxes: sandboxes.size };
  }

  /** The IDs of those that were removed. */
  async #each<T extends { readonly id: string; readonly podUID: string }>(
    items: readonly T[],
    kind: 'container' | 'sandbox',
    remove: (item: T) => Promise<boolean>,
  ): Promise<Set<string>> {
    const removed = new Set<string>();
    const queue = items.values();
    const work = async () => {
      for (const item of queue) {
        try {
          if (await remove(item)) removed.add(item.id);
        } catch (err) {
          this.#options.logger.warn({ err, kind, id: item.id, podUID: item.podUID }, 'Removing what is dead failed, will be tried again');
        }
      }
    };
    await Promise.all(Array.from({ length: parallelism }, work));
    containersRemoved.inc({ kind }, removed.size);
    return removed;
  }
}
