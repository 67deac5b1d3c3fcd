/** What main does with the persistent volumes of one kind. The kinds are a table (persistent-volume-kinds.ts). */
import type { PublishedVolume } from '../../../shared/contracts/published-volumes.ts';
import type { PublishVolumeRequest, VolumeHealthRequest, VolumeReply, VolumesApi } from '../../../shared/contracts/volumes.ts';
import type { Pod, Volume } from '../../../shared/kubernetes/api.ts';
import type { GetToken } from '../claims/service-account-tokens.ts';
import type { PersistentVolume, VolumeObjects } from '../volume-objects.ts';

/** The volumes thread. */
export type Publisher = Pick<VolumesApi, 'publishVolume' | 'publishLocalVolume' | 'checkHostPath'>;

/** The `attachmentMetadata` of the volume's VolumeAttachment, which the driver gets. */
export type PublishContext = PublishVolumeRequest['publishContext'];
/** What identifies a volume and its attachment. */
export type AttachableVolume = Pick<PublishVolumeRequest, 'podUID' | 'specName' | 'driver' | 'volumeHandle'>;

/** A pod's volume with the persistent volume of its claim. */
export interface ClaimedVolume<Source> {
  readonly pod: Pod;
  readonly volume: Volume;
  readonly persistentVolume: PersistentVolume;
  readonly source: Source;
  /** The pod's reference to the claim is read-only. */
  readonly readOnly: boolean;
}

/** A volume of a pod that can be published. */
export interface Publication {
  /** What containers get once `publish` is done. */
  readonly published: PublishedVolume;
  /** Absent: the pod defines the volume itself. */
  readonly persistentVolume?: PersistentVolume;
  /** Publishes the volume again, for a driver that requires it with each sync of the pod. */
  readonly republish?: (publisher: Publisher, publishContext: PublishContext) => Promise<VolumeReply>;
  /** The volume to attach to the node before it is published. Absent: the volume needs no attachment. */
  readonly toAttach?: AttachableVolume;
  /** The CSI volume of a claim. Absent: another kind, or the pod defines the volume itself. */
  readonly claimedCsi?: VolumeHealthRequest;
  readonly publish: (publisher: Publisher, publishContext: PublishContext) => Promise<VolumeReply>;
}

export interface PersistentVolumeKind<Source> {
  readonly supportsMountOptions: boolean;
  /** Resolves with the problem as text. Rejects with an Error. */
  toPublication(volume: ClaimedVolume<Source>, objects: VolumeObjects, getToken: GetToken): Promise<Publication | string>;
}
