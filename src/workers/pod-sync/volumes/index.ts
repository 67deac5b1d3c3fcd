/**
 * A pod's volumes and its folder under the root dir: set up before the sandbox, bound into containers, torn down after the last
 * container, removed at the end. Keeps no state: what is mounted is asked of the kernel, so that a lost task, a restart of the
 * kubelet or a change-over from another one changes nothing. Called by the steps of a sync.
 * After upstream's pkg/volume, pkg/kubelet/kubelet_pods.go and pkg/kubelet/volumemanager.
 */
export { PodVolumes } from './pod-volumes.ts';
export type { RequestPodObjects } from './volume-context.ts';
export type { ContainerMountsInput, MountVolumesInput, PodVolumesOptions, VolumeFailure } from './pod-volumes-inputs.ts';
