/** Removes the last instance of a container when it was created and never started, before the next instance is created. */
import type { RuntimePodStatus } from '../../../../shared/contracts/runtime-status.ts';
import type { SandboxID } from '../../../../shared/kubernetes/ids.ts';
import { findContainerStatus } from '../compute-pod-actions/index.ts';
import type { TaskContext } from '../dependencies.ts';
import { StaleStatusError } from './stale-status.ts';

/**
 * The kubelet or the thread may have died, or given up, while the runtime starts the instance: without the removal two instances could run.
 * Upstream leaves the instance in place. A runtime that is still starting it refuses the removal (containerd), so the next sync tries again.
 * Rejects with CriError or StaleStatusError.
 */
export async function removeUnstarted(
  { runtime, logger }: Pick<TaskContext, 'runtime' | 'logger'>,
  status: RuntimePodStatus | null,
  sandboxID: SandboxID,
  name: string,
): Promise<void> {
  const last = findContainerStatus(status, name);
  // The containers of an older sandbox are stopped with it.
  if (last?.state !== 'created' || last.sandboxID !== sandboxID) return;
  const current = (await runtime.findContainers(sandboxID, name)).find(({ id }) => id === last.id);
  if (!current) return;
  if (current.state !== 'created') throw new StaleStatusError(`its container ${name} has started`);
  logger.info({ container: name, containerID: last.id }, 'removing a container that was created and not started');
  await runtime.removeContainer(last.id);
}
