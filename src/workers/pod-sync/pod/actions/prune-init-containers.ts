/** Keeps only the newest dead instance of each init container. In a crash loop, garbage collection would let too many accumulate. */
import { forEachParallel } from '../../../../shared/concurrency/for-each-parallel.ts';
import type { RuntimeContainerStatus } from '../../../../shared/contracts/runtime-status.ts';
import type { TaskContext } from '../dependencies.ts';
import { removeContainer } from '../kill/index.ts';
import { podActionType } from './pod-action-type.ts';

export const pruneInitContainersAction = podActionType({
  type: 'PruneInitContainers',
  waitsForVolumes: false,
  // One action, which needs no data: the text is not read.
  list: () => ['all init containers'],
  execute: async ({ context, task: { pod, status } }) => {
    for (const { name } of pod.spec.initContainers ?? []) {
      const deadInstances = status?.containers.filter(
        (container) => container.name === name && (container.state === 'exited' || container.state === 'unknown'),
      );
      await removeInitContainers(context, deadInstances?.slice(1) ?? []);
    }
    context.channel.signal.throwIfAborted();
    return 'continue';
  },
});

/** A low limit leaves the runtime's capacity to other pods. */
const parallelRemovals = 4;

/** A container that cannot be removed is left to garbage collection. */
export async function removeInitContainers(context: TaskContext, containers: readonly RuntimeContainerStatus[]): Promise<void> {
  await forEachParallel(containers, parallelRemovals, async (container) => {
    await removeContainer(context, container, false).catch((err: unknown) => {
      context.logger.warn({ err, container: container.name, containerID: container.id }, 'cannot remove an init container');
    });
  });
}
