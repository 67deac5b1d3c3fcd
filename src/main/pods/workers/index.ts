/**
 * Pod workers: one per pod UID, each takes its pod through its lifecycle and decides when the pod syncs again. Owns the lifecycle state, the work
 * queue and the back-offs after failures. Pod handlers, housekeeping and the sync loop call it; it sends tasks to the sync pool. Its state machine
 * (pods/lifecycle/pod-lifecycle.ts) is pure. Upstream: pkg/kubelet/pod_workers.go.
 */
export { faultMessage, PodFaults } from './pod-faults.ts';
export type { KillPodOptions } from './pod-killer.ts';
export { PodWorkers, type PodWorkerSync } from './pod-workers.ts';
