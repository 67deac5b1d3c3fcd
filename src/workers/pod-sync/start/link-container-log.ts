/** Links a container's log from the node's flat log folder, and takes it away with the container. */
import { join } from 'node:path';
import type { RuntimeContainerStatus } from '../../../shared/contracts/runtime-status.ts';
import type { ContainerConfig, PodSandboxConfig } from '../../../shared/cri/generated/cri-v1.ts';
import type { Container, EphemeralContainer } from '../../../shared/kubernetes/api.ts';
import { containerLogSymlink } from '../../../shared/kubernetes/container-log-symlink.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import { removeContainerLogs } from '../../../shared/kubernetes/remove-container-logs.ts';
import type { TaskContext } from '../dependencies.ts';
import { linkLog } from './container-logs.ts';

function linkOf(
  { settings, identity: { name: podName, namespace: podNamespace } }: TaskContext,
  containerName: string,
  containerID: ContainerID,
) {
  return containerLogSymlink(settings.containerLogsDir, { podName, podNamespace, containerName, containerID });
}

/** Never fails: a container without its link runs as well as any. */
export async function linkContainerLog(
  context: TaskContext,
  { container, sandboxConfig }: { readonly container: Container | EphemeralContainer; readonly sandboxConfig: PodSandboxConfig },
  config: ContainerConfig,
  id: ContainerID,
): Promise<void> {
  const link = linkOf(context, container.name, id);
  const target = join(sandboxConfig.logDirectory, config.logPath);
  await linkLog(target, link).catch((err: unknown) => {
    context.logger.warn({ err, link, target, containerID: id }, 'cannot link the log of a container');
  });
}

/** Removes a dead container with its logs, or (to restart a pod's containers in place) without. Rejects with what could not be removed. */
export async function removeContainer(
  context: TaskContext,
  { id, name, logPath }: Pick<RuntimeContainerStatus, 'id' | 'name' | 'logPath'>,
  keepLogs: boolean,
): Promise<void> {
  // Logs first: a container that is gone would leave nobody who remembers them.
  if (!keepLogs) await removeContainerLogs(context.settings.podLogsDir, logPath, linkOf(context, name, id));
  await context.runtime.removeContainer(id);
  context.logger.debug({ container: name, containerID: id }, 'container removed');
}
