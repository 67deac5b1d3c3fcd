/**
 * Kills containers and whole pods within their grace period: preStop hooks, termination order of sidecars, stop of the sandboxes; removes
 * dead containers. Called by syncPod, by syncTerminatingPod, and after a failed postStart hook.
 */
export { killContainer } from './kill-container.ts';
export { killPod } from './kill-pod.ts';
export { OverdueKill } from './overdue-kill.ts';
export { removeContainer } from './remove-container.ts';
