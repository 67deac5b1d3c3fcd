/**
 * The pods' statuses as the API shows them. The pod workers ask the ApiStatusCache to regenerate a pod's status from its runtime status;
 * `/pods`, admission and housekeeping read it, and the status manager receives each change. `generateApiPodStatus` and the files that it
 * uses are pure.
 */
export { ApiStatusCache, type ApiStatusCacheDependencies, type StatusUpdate, type StatusUpdateSink } from './api-status-cache.ts';
export { disruptionTarget, ownConditionTypes, transientConditionTypes } from './conditions.ts';
export { generateApiPodStatus, type StatusFeatures } from './generate-api-pod-status.ts';
