/**
 * The API server objects that pods refer to for their volumes and environments: secrets, config maps, service account tokens, cluster trust
 * bundles, pod certificates and services. This part caches them on the main thread, answers the syncs' requests, and requests a sync of every
 * pod whose objects changed. The composition root owns it. Upstream: pkg/kubelet/{secret,configmap,token,clustertrustbundle,podcertificate,
 * runtimeclass} and pkg/kubelet/util/manager.
 */
export { PodObjectManager, type PodObjectManagerOptions } from './pod-object-manager.ts';
export { noPullToken } from './pull-tokens.ts';
export { RuntimeClassManager, standaloneRuntimeHandler, type RuntimeClassManagerOptions } from './runtime-class-manager.ts';
