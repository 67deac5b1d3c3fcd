/**
 * The volumes thread owns the volumes of claims and CSI drivers: the calls to the drivers, what is staged and published, and the order of the operations on
 * each volume. Main supplies what a volume's operation needs, from the pod's claim; the sync pool mounts the published path into containers. The thread
 * starts with the first driver or claim. All its state is in the `vol_data.json` files of the volumes and in the mount table, so it can be started again.
 */
import type { VolumeHealthCondition } from '../kubernetes/api.ts';
import type { FilesystemUsage } from '../state/filesystem-table.ts';
import type { PublishedFolder } from './published-volumes.ts';
import type { ThreadWorkerData } from './thread-worker-data.ts';

export interface VolumesWorkerData extends ThreadWorkerData {
  /** Without symlinks. */
  readonly rootDir: string;
  readonly nodeName: string;
  /** The registered drivers: the paths of their sockets, by name. */
  readonly drivers: ReadonlyMap<string, string>;
}

/** The reply of a driver's NodeGetInfo. */
export interface DriverNodeInfo {
  readonly nodeID: string;
  /** 0: not limited. */
  readonly maxVolumesPerNode: number;
  readonly topology: Readonly<Record<string, string>>;
}

export type DriverReply =
  | { readonly outcome: 'info'; readonly info: DriverNodeInfo }
  | { readonly outcome: 'failed'; readonly message: string };

/** A volume of a pod, as its persistent volume and its claim define it, or as the pod does. */
export interface PublishVolumeRequest {
  readonly podUID: string;
  /** `Ephemeral`: a volume that is defined in the pod. It has no stage, and ends with its publication. */
  readonly lifecycle: 'Persistent' | 'Ephemeral';
  /** The name of the persistent volume, or of the pod's volume. */
  readonly specName: string;
  readonly driver: string;
  readonly volumeHandle: string;
  readonly fsType: string;
  readonly volumeAttributes: Readonly<Record<string, string>>;
  /** Further attributes, which only the publication for this pod gets, and not the staging. */
  readonly podAttributes: Readonly<Record<string, string>>;
  /** No text of the two secrets appears in a log or a message. */
  readonly stageSecrets: Readonly<Record<string, string>>;
  readonly publishSecrets: Readonly<Record<string, string>>;
  /** Parts of attributes or secrets that must not appear in a message either: tokens. */
  readonly hiddenTexts?: readonly string[];
  /** Publishes the volume again, with changed attributes or secrets. Does nothing for a volume that is not published. A failure changes nothing. */
  readonly isRepublish?: true;
  readonly mountOptions: readonly string[];
  readonly accessModes: readonly string[];
  readonly readOnly: boolean;
  /** The group that the volume's files get. Null: they stay as they are. */
  readonly fsGroup: FSGroupChange | null;
  /** The attach-detach controller attaches the volume before it is staged. */
  readonly needsAttachment: boolean;
  /** The `attachmentMetadata` of the VolumeAttachment, which the driver's controller has set. */
  readonly publishContext: Readonly<Record<string, string>>;
}

export interface FSGroupChange {
  readonly fsGroup: number;
  readonly onlyOnRootMismatch: boolean;
  /** The files change also when the driver's own capability would set the group: false leaves it to the driver. */
  readonly appliesToFiles: boolean;
}

/** A local persistent volume of a pod. */
export interface LocalVolumeRequest {
  readonly podUID: string;
  /** The name of the persistent volume. */
  readonly specName: string;
  /** A folder or a block device of this host. */
  readonly path: string;
  /** The filesystem of a block device. Not used for a folder. */
  readonly fsType: string;
  readonly mountOptions: readonly string[];
  readonly accessModes: readonly string[];
  readonly readOnly: boolean;
  /** Null: the files stay as they are. */
  readonly fsGroup: Pick<FSGroupChange, 'fsGroup' | 'onlyOnRootMismatch'> | null;
}

export interface UnpublishVolumeRequest extends PublishedFolder {
  readonly podUID: string;
}

/** A published CSI volume of a pod. */
export interface VolumeStatsRequest {
  readonly podUID: string;
  readonly specName: string;
}

/** What a driver says about the usage of a volume. All are 0 whose unit the driver does not report, as upstream. */
export type DriverMeasuredUsage = Omit<FilesystemUsage, 'readAtMs'>;

export type VolumeStatsReply =
  | { readonly outcome: 'measured'; readonly usage: DriverMeasuredUsage }
  /** The driver measures no volumes. */
  | { readonly outcome: 'unsupported' }
  /** The driver is not registered, or nothing is published. */
  | { readonly outcome: 'absent' }
  | { readonly outcome: 'failed'; readonly message: string };

/** A CSI volume of a claim, in a pod. Its publication was requested, and may have failed. */
export interface VolumeHealthRequest {
  readonly podUID: string;
  /** The name of the persistent volume. */
  readonly specName: string;
  readonly driver: string;
  readonly volumeHandle: string;
}

/** What is wrong with the storage behind a driver (storage.k8s.io/v1 StorageHealthCondition). */
export interface StorageHealthCondition {
  readonly status: 'StorageUnreachable' | 'StorageDegraded';
  readonly reason: string;
  readonly message?: string;
  /** Absent, with the next one: volumes of all kinds are affected. */
  readonly accessMode?: 'ReadWriteOnce' | 'ReadWriteOncePod' | 'ReadOnlyMany' | 'ReadWriteMany';
  readonly volumeMode?: 'Filesystem' | 'Block';
}

export type HealthReply<Condition> =
  /** None: healthy. The API server admits the number of the conditions, their reasons and their messages. */
  | { readonly outcome: 'reported'; readonly conditions: readonly Condition[] }
  /** The driver does not report this, or is not registered. */
  | { readonly outcome: 'unsupported' }
  | { readonly outcome: 'failed'; readonly message: string };
export type VolumeHealthReply = HealthReply<VolumeHealthCondition>;
export type StorageHealthReply = HealthReply<StorageHealthCondition>;

/** The messages are upstream's: `MountVolume.MountDevice failed for volume "pv" : …` */
export type VolumeReply =
  | { readonly outcome: 'done'; /** The message of an event of the pod. */ readonly warning?: string }
  | {
      readonly outcome: 'failed';
      readonly message: string;
      /** The message of an event of the persistent volume, whose disk has another filesystem than requested. */ readonly mismatch?: string;
    };

/** A volume that is on this node, or may be: a call that stages or publishes it has begun. */
export interface VolumeOnNode {
  readonly driver: string;
  readonly volumeHandle: string;
  /** False also for a volume whose record does not say it: Go's kubelet does not record it. */
  readonly needsAttachment: boolean;
}

/**
 * The volumes that are on this node; notifications and replies arrive in the order in which the thread posts them. `recovered` comes once after each start
 * of the thread, when all records are read. `areRecordsLost`: a volume is mounted whose record is lost, so any volume may still be in use.
 */
export type VolumeOnNodeNotification =
  | { readonly type: 'recovered'; readonly volumes: readonly VolumeOnNode[]; readonly areRecordsLost: boolean }
  /** `unused`: no pod on this node uses the volume any more. Its unstage follows, and is repeated until it succeeds. */
  | { readonly type: 'added' | 'unused' | 'removed'; readonly volume: VolumeOnNode };

/** The files of a volume get the pod's fsGroup, and have not got it after half a minute. */
export interface SlowGroupChange {
  readonly type: 'slowGroupChange';
  readonly podUID: string;
  /** The volume's path in the pod's folder. */
  readonly target: string;
  /** Null in the first notification. One with the number of changed files follows each minute. */
  readonly files: number | null;
}

export type VolumesNotification = VolumeOnNodeNotification | SlowGroupChange;

export interface VolumesApi {
  /** Resolves when the records are read, after the notification. Rejects when they can't be read. */
  recover(): Promise<void>;
  /** Replaces the socket of a driver, and asks it about this node. Repeats what has failed without the driver. */
  setDriver(name: string, endpoint: string): Promise<DriverReply>;
  /** Asks a registered driver again about this node. */
  driverInfo(name: string): Promise<DriverReply>;
  removeDriver(name: string): Promise<void>;
  /** Stages the volume on this node if necessary, and publishes it in the pod's folder. Nothing is called for what is recorded as complete. */
  publishVolume(request: PublishVolumeRequest): Promise<VolumeReply>;
  /** Mounts a local volume in the pod's folder. A block device is mounted on this node before, and formatted if it is empty. */
  publishLocalVolume(request: LocalVolumeRequest): Promise<VolumeReply>;
  /** Checks the type of a path of this host, and creates it if the type allows that. */
  checkHostPath(path: string, type: string): Promise<VolumeReply>;
  /** Asks the driver of a CSI volume what the volume uses. A driver is asked about one volume at a time. */
  volumeStats(request: VolumeStatsRequest): Promise<VolumeStatsReply>;
  /** Asks a driver about the health of a volume. A driver gets one call about health at a time. */
  volumeHealth(request: VolumeHealthRequest): Promise<VolumeHealthReply>;
  /** Asks a driver about the storage behind it. */
  storageHealth(driver: string): Promise<StorageHealthReply>;
  /** Unpublishes the volume in this folder of the pod. Unstages the volume afterwards, when no pod on this node uses it any more. */
  unpublishVolume(request: UnpublishVolumeRequest): Promise<VolumeReply>;
  close(): Promise<void>;
}
