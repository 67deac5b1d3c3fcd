/**
 * The answers of the PodResources API. Asks the managers of devices, CPUs, memory and dynamic resources which of them
 * each container has exclusively; owns nothing. The server thread (workers/server/pod-resources) calls it.
 */
export { PodResourcesLister, type PodResourcesListerDependencies } from './pod-resources-lister.ts';
export { noExclusiveResources, type ResourceProviders } from './resource-providers.ts';
