/**
 * The node's cgroups above those of pods: all pods, the QoS levels, and those of the system and of Kubernetes' daemons; and which processes of the host are
 * in which cgroup. Decides their values from the
 * pods, the machine and the configuration; the sync pool sets them. Owns the events of node allocatable enforcement. The composition root starts
 * it; the pod runner notifies it of changed pods.
 */
export { HostProcesses } from './host-processes.ts';
export { NodeCgroups, type NodeCgroupsOptions } from './node-cgroups.ts';
