/**
 * Computes the Node's `status.volumesInUse`: the attach-detach controller detaches none of the listed volumes. Pure. Upstream:
 * volumeManager.GetVolumesInUse.
 */
import { createHash } from 'node:crypto';
import { parseCsiVolumeName } from '../../../shared/kubernetes/attachment-names.ts';

/** What the Node of the API server lists. */
export interface ListedVolumes {
  readonly inUse: readonly string[];
  readonly attached: readonly string[];
}

/** Mounts of volumes that this kubelet does not know: an earlier kubelet has left them, or their record is lost. */
export interface LeftMounts {
  /** The staged CSI volumes, see `stagingKeyOfFolder`. */
  readonly staged: ReadonlySet<string>;
  /** Any CSI volume may be mounted. */
  readonly csi: boolean;
  /** Any volume of another plugin may be mounted. */
  readonly other: boolean;
}

export const noLeftMounts: LeftMounts = { staged: new Set(), csi: false, other: false };

export interface VolumesInUseInputs {
  readonly listed: ListedVolumes;
  /** The volumes on this node, by name, and whether their records say that they need an attachment. */
  readonly onNode: ReadonlyMap<string, boolean>;
  /** The volumes that pods wait for or use. */
  readonly wanted: Iterable<string>;
  /** Volumes that have left this node. */
  readonly ended: ReadonlySet<string>;
  readonly left: LeftMounts;
}

/** Returns the names, sorted. A record of Go's kubelet does not say whether its volume needs an attachment: then the Node does. */
export function computeVolumesInUse({ listed, onNode, wanted, ended, left }: VolumesInUseInputs): readonly string[] {
  const isListed = new Set([...listed.inUse, ...listed.attached]);
  const mounted = [...onNode].filter(([name, needsAttachment]) => needsAttachment || isListed.has(name)).map(([name]) => name);
  const kept = listed.inUse.filter((name) => !ended.has(name) && isLeft(name, left));
  return [...new Set([...wanted, ...mounted, ...kept])].sort();
}

function isLeft(name: string, left: LeftMounts): boolean {
  const volume = parseCsiVolumeName(name);
  if (!volume) return left.other;
  return left.csi || left.staged.has(stagingKeyOfFolder(volume.driver, createHash('sha256').update(volume.volumeHandle).digest('hex')));
}

/** A key for the folder in which a driver stages a volume. As upstream, the folder's name is the SHA-256 of the volume handle. */
export function stagingKeyOfFolder(driver: string, folder: string): string {
  return `${driver}/${folder}`;
}
