/**
 * The node: what it has, how it is, and its membership in a cluster. Owns the Node object at the API server and the node's lease; the
 * composition root starts it, admission and the syncs read it.
 */
export { declaredFeatures } from './status/declared-features.ts';
export { LocalNodeStatus, type LocalNodeStatusOptions } from './status/local-node-status.ts';
export { ClusterNode, type ClusterNodeOptions } from './cluster-node.ts';
export { isReady, type Node, type NodeCondition, type NodeEvent, type NodeStatus } from './node-object.ts';
export type { NodeStore, StoredNode } from './node-store.ts';
export { threadErrors } from './status/thread-health.ts';
