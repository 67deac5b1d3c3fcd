/**
 * Writes pod statuses to the API server. The API status cache (main/pods/api-status/) calls the status manager for each change. No other part
 * patches a pod's status or removes the object of a terminated pod.
 */
export { StatusManager, type StatusManagerDependencies } from './status-manager.ts';
