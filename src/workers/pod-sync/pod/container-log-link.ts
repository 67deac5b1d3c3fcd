/** Names a container's link in the node's flat log folder. The start of the container creates the link, and its removal removes the link. */
import { containerLogSymlink } from '../../../shared/container-logs/container-log-symlink.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';
import type { TaskContext } from './dependencies.ts';

export function containerLogLink(
  { settings, identity: { name: podName, namespace: podNamespace } }: Pick<TaskContext, 'settings' | 'identity'>,
  containerName: string,
  containerID: ContainerID,
): string {
  return containerLogSymlink(settings.containerLogsDir, { podName, podNamespace, containerName, containerID });
}
