/**
 * Executes the actions of a pod: a file per type, and a table of all types. A new type has a member of the union in list-pod-actions.ts, a
 * file here and a row in execute-pod-actions.ts; the compiler checks the table, and that each member of PodActions is in the list. Called by syncPod.
 */
export { executePodActions } from './execute-pod-actions.ts';
export { isResizeOnly } from './list-pod-actions.ts';
