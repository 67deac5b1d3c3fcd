/** Links a container's log from the node's flat log folder. */
import { join } from 'node:path';
import type { ContainerConfig, PodSandboxConfig } from '../../../../shared/cri/generated/cri-v1.ts';
import type { Container, EphemeralContainer } from '../../../../shared/kubernetes/api.ts';
import type { ContainerID } from '../../../../shared/kubernetes/ids.ts';
import type { TaskContext } from '../dependencies.ts';
import { containerLogLink } from '../container-log-link.ts';
import { createLogSymlink } from './container-log-folder.ts';

/** Never rejects: the link is not needed to run the container. */
export async function linkContainerLog(
  context: TaskContext,
  { container, sandboxConfig }: { readonly container: Container | EphemeralContainer; readonly sandboxConfig: PodSandboxConfig },
  config: ContainerConfig,
  id: ContainerID,
): Promise<void> {
  const link = containerLogLink(context, container.name, id);
  const target = join(sandboxConfig.logDirectory, config.logPath);
  await createLogSymlink(target, link).catch((err: unknown) => {
    context.logger.warn({ err, link, target, containerID: id }, 'cannot link the log of a container');
  });
}
