/** Converts a pod's volume, with its persistent volume and driver, into the request to the volumes thread, or says why it can't be used. Pure. */
import type { PublishVolumeRequest } from '../../../shared/contracts/volumes.ts';
import type { Pod, Volume } from '../../../shared/kubernetes/api.ts';
import type { CsiDriverObject, CsiSource, PersistentVolume } from '../volume-objects.ts';
import { fsGroupChange } from './fs-group.ts';

export interface ResolvedVolume {
  readonly pod: Pod;
  readonly volume: Volume;
  readonly persistentVolume: PersistentVolume;
  readonly source: CsiSource;
  /** Null: the driver has no CSIDriver object. */
  readonly driver: CsiDriverObject | null;
  /** The claim's reference is read-only. */
  readonly readOnly: boolean;
}

/** The API server admits 1.5 MB in total. */
const maxTexts = 256 * 1024;

/** Returns the problem as text. */
export function toPublishRequest(resolved: ResolvedVolume): PublishVolumeRequest | string {
  const { pod, persistentVolume, source, driver, readOnly } = resolved;
  const { accessModes = [], mountOptions = [] } = persistentVolume.spec ?? {};
  const { fsType = '', volumeAttributes = {} } = source;
  const problem = unsupported(resolved);
  if (problem !== null) return problem;
  if (JSON.stringify([volumeAttributes, mountOptions, source.volumeHandle, fsType]).length > maxTexts)
    return `the attributes of PV ${persistentVolume.metadata.name} have more than ${maxTexts} characters`;
  return {
    podUID: pod.metadata.uid,
    specName: persistentVolume.metadata.name,
    driver: source.driver,
    volumeHandle: source.volumeHandle,
    fsType,
    volumeAttributes,
    mountOptions,
    accessModes,
    readOnly,
    fsGroup: fsGroupChange(pod, { fsGroupPolicy: driver?.spec?.fsGroupPolicy, fsType, accessModes, readOnly }),
  };
}

/** What this kubelet does not do yet. Without it the driver would get an incomplete request. */
function unsupported({ pod, volume, persistentVolume, source, driver }: ResolvedVolume): string | null {
  const { volumeMode = 'Filesystem' } = persistentVolume.spec ?? {};
  if (volumeMode !== 'Filesystem') {
    const isDevice = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].some(({ volumeDevices = [] }) =>
      volumeDevices.some(({ name }) => name === volume.name),
    );
    return isDevice
      ? `volume ${volume.name} has volumeMode ${volumeMode}, which this kubelet does not support`
      : `volume ${volume.name} has volumeMode ${volumeMode}, but is specified in volumeMounts`;
  }
  const needs = [
    // Upstream's default, also for a driver without a CSIDriver object.
    ...(driver?.spec?.attachRequired !== false ? ['volumes to be attached'] : []),
    ...(driver?.spec?.podInfoOnMount ? ['information about pods'] : []),
    ...(driver?.spec?.tokenRequests?.length ? ['tokens of service accounts'] : []),
    ...(source.nodeStageSecretRef || source.nodePublishSecretRef ? ['secrets'] : []),
  ];
  return needs.length === 0 ? null : `driver ${source.driver} needs ${needs.join(', ')}, which this kubelet does not support yet`;
}
