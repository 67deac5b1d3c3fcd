/**
 * The cgroups of pods and of the QoS classes: creates a pod's cgroup with its resource values, removes it with the processes left in it.
 * Called by the steps of a sync that create the sandbox and that clean up a terminated pod.
 */
export { CgroupTree } from './cgroup-tree.ts';
export { PodCgroups } from './pod-cgroups.ts';
export type { PodCgroupPart, PodCgroupValue, PodCgroupValues } from './resizable-values.ts';
export { createCgroupManager } from './create-cgroup-manager.ts';
