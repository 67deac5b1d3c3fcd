/**
 * What pods need from the API server for their volumes and environments: secrets, config maps, tokens, trust bundles, certificates, services. Main keeps
 * them, a sync asks for them on its line, and a change wakes the pods that use it. And how many volumes there are. Owned by the composition root.
 * After upstream's pkg/kubelet/{secret,configmap,token,clustertrustbundle,podcertificate} and pkg/kubelet/util/manager.
 */
export { PodObjectManager as PodValues, type PodObjectManagerOptions as PodValuesOptions } from './pod-object-manager.ts';
export { MountedVolumes as VolumeCount } from '../pods/mounted-volumes.ts';
