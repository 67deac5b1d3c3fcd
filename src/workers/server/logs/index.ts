/**
 * `/containerLogs/{podNamespace}/{podID}/{containerName}`: serves a container's log from its file. The router calls this part after
 * authorization. Upstream: getContainerLogs of pkg/kubelet/server/server.go and k8s.io/cri-client/pkg/logs.
 */
export { createContainerLogs } from './container-logs-handler.ts';
export type { ContainerLogs, ContainerLogsDependencies, ContainerLogsTarget } from './container-logs-interface.ts';
