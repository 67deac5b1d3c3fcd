/**
 * The eviction manager protects the node from running out of memory, disk space, inodes and process IDs: it frees dead containers and unused images,
 * then ends one pod at a time, and reports pressure on the Node. It also ends pods that exceed their limits of local storage. It reads the tables that the
 * stats and images threads write; wiring/start-eviction.ts creates it. Upstream: pkg/kubelet/eviction.
 */
export { EvictionManager } from './eviction-manager.ts';
export { NodePressure } from './node-pressure.ts';
export { readNodeStats } from './read-node-stats.ts';
export { readPodStats } from './read-pod-stats.ts';
export { liveEvictionSettings } from './settings.ts';
