/**
 * Executes the actions of a pod: a file per type, and a table of all types. A new type has a file here and a row in pod-action-types.ts; the compiler checks
 * that each member of PodActions is read by a type. Called by syncPod.
 */
export { executePodActions } from './execute-pod-actions.ts';
export { isResizeOnly } from './list-pod-actions.ts';
