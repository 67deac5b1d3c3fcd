/**
 * The node's cgroups above those of pods: the cgroup of all pods, those of the QoS classes, and those of the system and of Kubernetes' daemons; and
 * which processes of the host are in which cgroup. Decides the values of the cgroups from the pods, the machine and the configuration; the sync
 * pool sets them. Owns the events of node allocatable enforcement. The composition root starts this part; the pod runner notifies it of changed
 * pods.
 */
export { HostProcesses } from './host-processes.ts';
export { NodeCgroups, type NodeCgroupsOptions } from './node-cgroups.ts';
