/**
 * This node. Owns the Node object in the API server and the node's lease.
 *
 *  - `LocalNodeStatus` computes the Node from the host, the runtime and the configuration. It exists standalone, too.
 *  - `ClusterNode` registers that Node in the API server, reports its status and renews its lease. It exists only in a cluster.
 *
 * The composition root starts both. Admission, pod syncs and the pods' downward API read the Node.
 */
export { ClusterNode, type ClusterNodeOptions } from './cluster-node.ts';
export { cgroupFsRoot, readCgroupSettings, type CgroupSettings } from './host/cgroup-settings.ts';
export { systemOOMEvent } from './host/system-oom-event.ts';
export { ownCgroup } from './host/own-cgroup.ts';
export { MachineWatch } from './host/machine-watch.ts';
export { cpuHardcapErrors } from './host/cpu-hardcap.ts';
export { recordHostWarnings } from './host/record-host-warnings.ts';
export { NodeInfoSource, unknownNodeInfo } from './node-info-source.ts';
export { watchRuntimeSocket } from './watch-runtime-socket.ts';
export { PodCIDRSync } from './pod-cidr-sync.ts';
export { toNodeName } from './node-name.ts';
export { isReady, type Node, type NodeCondition, type NodeEvent, type NodeStatus } from './node-object.ts';
export type { NodeStore, StoredNode } from './node-store.ts';
export { isExtendedResource } from '../../shared/kubernetes/resource-names.ts';
export { declaredFeatures } from './status/declared-features.ts';
export { LocalNodeStatus, type LocalNodeStatusOptions } from './status/local-node-status.ts';
export { excessiveReservations, nodeAllocatable, nodeCapacity, resourceSettings } from './status/node-capacity.ts';
export { RuntimeState } from './status/runtime-state.ts';
export { threadErrors } from './status/thread-health.ts';
