/**
 * A pod's volumes and its folder under the root dir: mounts them before the containers start, makes each container's mounts, unmounts them
 * after the last container, removes the folder at the end. Keeps no state: the kernel knows what is mounted, so that a lost task, a restart
 * or another kubelet before this one needs no recovery. Called by the steps of a sync.
 * Follows upstream's pkg/volume, pkg/kubelet/kubelet_pods.go and pkg/kubelet/volumemanager.
 */
export { PodVolumes } from './pod-volumes.ts';
export type { RequestPodObjects } from './volume-context.ts';
export type { UnpublishVolume } from './teardown-context.ts';
export type { ContainerMountsInput, MountVolumesInput, PodVolumesOptions, VolumeFailure } from './pod-volumes-inputs.ts';
