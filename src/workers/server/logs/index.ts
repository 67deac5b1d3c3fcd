/**
 * `/containerLogs/{podNamespace}/{podID}/{containerName}`: a container's log, read here by its file descriptor, so that main never sees
 * a byte of it. The router calls it once the client may see the log. Upstream: getContainerLogs of pkg/kubelet/server/server.go and
 * k8s.io/cri-client/pkg/logs.
 */
import { ContainerLogsHandler } from './container-logs.ts';
import type { ContainerLogs, ContainerLogsDependencies } from './types.ts';

export type { ContainerLogs, ContainerLogsDependencies, ContainerLogsTarget } from './types.ts';

/** One for the thread: all listeners share it. */
export function createContainerLogs(dependencies: ContainerLogsDependencies): ContainerLogs {
  return new ContainerLogsHandler(dependencies);
}
