/**
 * In-place resize: puts the allocated resources of a pod into force, and reports to main which resources are in force. `compute-pod-actions` decides what
 * has to change. Called by the steps of a sync. Upstream: pkg/kubelet/kuberuntime.
 */
export { executeResize } from './execute-resize.ts';
export { podCgroupDifference } from './pod-cgroup-difference.ts';
export { recordNewCgroup, recordStart } from './record-actuated.ts';
