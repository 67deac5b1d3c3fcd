/** Converts a pod's volume, with its persistent volume and driver, into the request to the volumes thread, or says why it can't be used. Pure. */
import { createHash } from 'node:crypto';
import type { PublishVolumeRequest } from '../../../shared/contracts/volumes.ts';
import type { Pod, Volume } from '../../../shared/kubernetes/api.ts';
import type { CsiDriverObject, CsiSource, PersistentVolume } from '../volume-objects.ts';
import { fsGroupChange } from './fs-group.ts';
import { podAttributes } from './pod-attributes.ts';
import { volumeModeProblem } from './volume-mode.ts';

export type SecretTexts = Readonly<Record<string, string>>;

export interface ResolvedVolume {
  readonly pod: Pod;
  readonly volume: Volume;
  readonly persistentVolume: PersistentVolume;
  readonly source: CsiSource;
  /** Null: the driver has no CSIDriver object. */
  readonly driver: CsiDriverObject | null;
  /** The claim's reference is read-only. */
  readonly readOnly: boolean;
  readonly stageSecrets: SecretTexts;
  readonly publishSecrets: SecretTexts;
}

export interface InlineVolume {
  readonly pod: Pod;
  /** The volume's name in the pod. */
  readonly name: string;
  readonly source: NonNullable<Volume['csi']>;
  readonly driver: CsiDriverObject | null;
  readonly publishSecrets: SecretTexts;
}

/** Limits a request, in characters. The API server would admit volumes with texts of 1.5 MB, and a Secret of 1 MiB. */
const maxTexts = 256 * 1024;

/** Returns the problem as text. */
export function toPublishRequest(resolved: ResolvedVolume): PublishVolumeRequest | string {
  const { pod, persistentVolume, source, driver, readOnly, stageSecrets, publishSecrets } = resolved;
  const { accessModes = [], mountOptions = [] } = persistentVolume.spec ?? {};
  const { fsType = '', volumeAttributes = {} } = source;
  const problem = volumeModeProblem(resolved) ?? driverProblem(source.driver, driver, 'Persistent');
  if (problem !== null) return problem;
  return withinBounds({
    podUID: pod.metadata.uid,
    lifecycle: 'Persistent',
    specName: persistentVolume.metadata.name,
    driver: source.driver,
    volumeHandle: source.volumeHandle,
    fsType,
    volumeAttributes,
    podAttributes: podAttributes(pod, driver, 'Persistent'),
    stageSecrets,
    publishSecrets,
    mountOptions,
    accessModes,
    readOnly,
    fsGroup: fsGroupChange(pod, { fsGroupPolicy: driver?.spec?.fsGroupPolicy, fsType, accessModes, readOnly }),
    needsAttachment: driver?.spec?.attachRequired ?? true,
    publishContext: {},
  });
}

/** Like `toPublishRequest`, for a volume that the pod defines itself. Returns the problem as text. */
export function toInlineRequest({ pod, name, source, driver, publishSecrets }: InlineVolume): PublishVolumeRequest | string {
  const problem = driverProblem(source.driver, driver, 'Ephemeral');
  if (problem !== null) return problem;
  const { fsType = '', readOnly = false, volumeAttributes = {} } = source;
  const accessModes = ['ReadWriteOnce'];
  return withinBounds({
    podUID: pod.metadata.uid,
    lifecycle: 'Ephemeral',
    specName: name,
    driver: source.driver,
    // Upstream: makeVolumeHandle.
    volumeHandle: `csi-${createHash('sha256').update(`${pod.metadata.uid}${name}`).digest('hex')}`,
    fsType,
    volumeAttributes,
    podAttributes: podAttributes(pod, driver, 'Ephemeral'),
    stageSecrets: {},
    publishSecrets,
    mountOptions: [],
    accessModes,
    readOnly,
    fsGroup: fsGroupChange(pod, { fsGroupPolicy: driver?.spec?.fsGroupPolicy, fsType, accessModes, readOnly }),
    needsAttachment: false,
    publishContext: {},
  });
}

function withinBounds(request: PublishVolumeRequest): PublishVolumeRequest | string {
  return JSON.stringify(request).length <= maxTexts
    ? request
    : `the attributes and secrets of volume ${request.specName} have more than ${maxTexts} characters`;
}

/** Checks that the driver supports volumes of this lifecycle. A driver without a CSIDriver object has upstream's defaults. */
function driverProblem(name: string, driver: CsiDriverObject | null, lifecycle: PublishVolumeRequest['lifecycle']): string | null {
  const { volumeLifecycleModes = ['Persistent'] } = driver?.spec ?? {};
  if (!volumeLifecycleModes.includes(lifecycle)) {
    const reason = driver ? `only supports ${JSON.stringify(volumeLifecycleModes)}` : 'no CSIDriver object';
    return `volume mode "${lifecycle}" not supported by driver ${name} (${reason})`;
  }
  return null;
}
