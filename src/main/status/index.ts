/**
 * Pod status to the API server: who writes it, when, and what. It reads what the API source and the pod manager have, is told of every
 * change by the pods' statuses (main/pods/api-status/api-status-cache.ts), and is the only one to patch or to finally delete a pod.
 */
export { StatusManager, type StatusManagerDependencies } from './status-manager.ts';
