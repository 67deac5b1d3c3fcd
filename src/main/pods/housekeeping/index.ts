/**
 * Periodic cleanup of pods: Housekeeping reconciles the desired pods with the pod workers and the runtime; ContainerDeletor removes superfluous dead
 * containers between its rounds. The composition root runs both.
 */
export { ContainerDeletor } from './container-deletor.ts';
export { Housekeeping } from './housekeeping.ts';
export { listPodDirectories } from './pod-directories.ts';
