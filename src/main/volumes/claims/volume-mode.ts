/** Checks that the pod uses a volume according to its volumeMode: as a file system or as a block device. Pure. */
import type { Pod, Volume } from '../../../shared/kubernetes/api.ts';
import type { PersistentVolume } from '../volume-objects.ts';

interface UsedVolume {
  readonly pod: Pod;
  readonly volume: Volume;
  readonly persistentVolume: PersistentVolume;
}

/** Returns the problem, or null for a file system: this kubelet has no block volumes yet. */
export function volumeModeProblem({ pod, volume, persistentVolume }: UsedVolume): string | null {
  const { volumeMode = 'Filesystem' } = persistentVolume.spec ?? {};
  if (volumeMode === 'Filesystem') return null;
  const isDevice = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].some(({ volumeDevices = [] }) =>
    volumeDevices.some(({ name }) => name === volume.name),
  );
  return isDevice
    ? `volume ${volume.name} has volumeMode ${volumeMode}, which this kubelet does not support`
    : `volume ${volume.name} has volumeMode ${volumeMode}, but is specified in volumeMounts`;
}
