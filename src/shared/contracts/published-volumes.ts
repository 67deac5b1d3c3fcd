/** Volumes that the volumes thread publishes (contracts/volumes.ts), as a task of the sync pool sees them. */

/** A volume that is mounted in the pod's folder. */
export interface PublishedVolume {
  /** The name of its folder: the persistent volume's. */
  readonly specName: string;
  /** Containers may not write to it. */
  readonly readOnly: boolean;
}

export type PublishedVolumeResult = { readonly outcome: 'published'; readonly volume: PublishedVolume } | VolumeNotReady;

export type UnpublishedVolumeResult = { readonly outcome: 'unpublished' } | VolumeNotReady;

/**
 * `unprocessed`: the pod's claim can't be used; the message says why. `failed`: the message is worded like upstream's event, with the volume and the operation. `waiting`: an operation is under way, or its back-off; there is no event,
 * and the message says what is waited for and since when.
 */
export interface VolumeNotReady {
  readonly outcome: 'unprocessed' | 'failed' | 'waiting';
  readonly message: string;
  /** Of the event of a failure. Default: FailedMount. */
  readonly reason?: 'FailedAttachVolume';
  /** The attach-detach controller has not attached the volume. */
  readonly isUnattached?: boolean;
}
