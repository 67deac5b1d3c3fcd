/**
 * `/containerLogs/{podNamespace}/{podID}/{containerName}`: serves a container's log from its file. The router calls this part after
 * authorization. Upstream: getContainerLogs of pkg/kubelet/server/server.go and k8s.io/cri-client/pkg/logs.
 */
import { ContainerLogsHandler } from './container-logs-handler.ts';
import type { ContainerLogs, ContainerLogsDependencies } from './container-logs-interface.ts';

export type { ContainerLogs, ContainerLogsDependencies, ContainerLogsTarget } from './container-logs-interface.ts';

/** Called once per thread. */
export function createContainerLogs(dependencies: ContainerLogsDependencies): ContainerLogs {
  return new ContainerLogsHandler(dependencies);
}
