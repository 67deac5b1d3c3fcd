/** Volumes that the volumes thread publishes (contracts/volumes.ts), as a task of the sync pool sees them. */

/** Upstream's plugins whose volumes are mounted in the pod's folder by the volumes thread. The folder has the plugin's name. */
export type PublishingPlugin = 'kubernetes.io/csi' | 'kubernetes.io/local-volume';

/** The folder of a published volume, in the pod's folder. */
export interface PublishedFolder {
  readonly plugin: PublishingPlugin;
  /** The name of the persistent volume, or of the pod's volume. */
  readonly specName: string;
}

/** A volume of a claim, or of a CSI driver, that containers may mount. */
export interface PublishedVolume {
  /** The folder in which the volume is mounted. For a persistent volume of the kind hostPath: the path itself, since nothing is mounted. */
  readonly place: PublishedFolder | { readonly hostPath: string };
  /** Containers may not write to it. */
  readonly readOnly: boolean;
}

export type PublishedVolumeResult = { readonly outcome: 'published'; readonly volume: PublishedVolume } | VolumeNotReady;

export type UnpublishedVolumeResult = { readonly outcome: 'unpublished' } | VolumeNotReady;

/**
 *  - `unprocessed`: the pod's claim can't be used; the message says why.
 *  - `failed`: the message is worded like upstream's event, with the volume and the operation.
 *  - `waiting`: an operation is under way, or waits for its back-off. There is no event; the message says what is waited for and since when.
 */
export interface VolumeNotReady {
  readonly outcome: 'unprocessed' | 'failed' | 'waiting';
  readonly message: string;
  /** The reason of a failure's event. Default: FailedMount. */
  readonly reason?: 'FailedAttachVolume';
  /** The attach-detach controller has not attached the volume. */
  readonly isUnattached?: boolean;
}
