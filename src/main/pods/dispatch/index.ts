/**
 * Limits how many pods sync and start at the same time. Owns sync slots and start permits. Pod workers request slots, tasks of the sync pool request
 * permits through main/wiring/task-handlers.ts. Placement of pods on nodes is kube-scheduler's job.
 */
export { PodDispatcher } from './pod-dispatcher.ts';
export type { SyncSlot } from './sync-slots.ts';
