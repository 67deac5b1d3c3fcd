/** The volumes of pods whose health CSI drivers are asked for (upstream GetVolumesToReportHealth in kubelet/volumemanager/cache/volume_health.go). */
import type { VolumeHealthRequest } from '../../../shared/contracts/volumes.ts';
import type { Pod, Volume } from '../../../shared/kubernetes/api.ts';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { volumesToMount } from '../../../shared/kubernetes/volume-kind.ts';
import { claimOfVolume } from '../claims/claim-of-volume.ts';

export interface ClaimedCsiVolume {
  readonly uid: PodUID;
  /** The name under which the health is in the pod's status. */
  readonly volumeName: string;
  readonly request: VolumeHealthRequest;
}

/** Of the volumes of a pod with the same claim, the first one stands for all: the driver knows one volume. Pure. */
export function nameInStatus(pod: Pod, volume: Volume): string {
  const claimName = claimOfVolume(pod, volume)?.claimName;
  return volumesToMount(pod).find((other) => claimOfVolume(pod, other)?.claimName === claimName)?.name ?? volume.name;
}
