/**
 * The timeline of every pod, always on: when each phase of its start and its termination began and ended, what it waited for, and for a pod that
 * terminates what it still waits for (the ledger, shared/timeline/ledger.ts). For an operator whose pod hangs in ContainerCreating or Terminating.
 *
 * Owns the rows of the table in shared memory (shared/timeline/timeline-table.ts): a row of fixed size per pod, at most 2 KB with everything. Parts
 * of main call PodTimelines where a step begins or ends; tasks of the sync pool send `phase` notifications with the messages of their channel. The
 * server thread reads the table; nothing asks main. A pod has a new record after a restart of the kubelet, marked `restored` if it ran before.
 */
export { PodTimelines } from './pod-timelines.ts';
export { SlowPhases } from './slow-phases.ts';
export { recordStatusPhases } from './status-phases.ts';
