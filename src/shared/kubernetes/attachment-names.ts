/** The names by which kubelet, attach-detach controller and external attachers refer to a CSI volume on a node. Pure. */
import { createHash } from 'node:crypto';
import { volumeKinds } from './volume-kind.ts';

const csiPrefix = `${volumeKinds.csi.plugin}/`;

/** The name in the Node's `volumesInUse` and `volumesAttached` (upstream GetUniqueVolumeName in pkg/volume/util, csiPlugin.GetVolumeName). */
export function uniqueVolumeName(driver: string, volumeHandle: string): string {
  return `${csiPrefix}${driver}^${volumeHandle}`;
}

/** Returns null when the name is that of another plugin's volume. */
export function parseCsiVolumeName(uniqueName: string): { readonly driver: string; readonly volumeHandle: string } | null {
  const separator = uniqueName.indexOf('^');
  if (!uniqueName.startsWith(csiPrefix) || separator === -1) return null;
  return { driver: uniqueName.slice(csiPrefix.length, separator), volumeHandle: uniqueName.slice(separator + 1) };
}

/** The name of the VolumeAttachment (upstream getAttachmentName in pkg/volume/csi/csi_attacher.go). */
export function attachmentName(volumeHandle: string, driver: string, nodeName: string): string {
  return `csi-${createHash('sha256').update(`${volumeHandle}${driver}${nodeName}`).digest('hex')}`;
}
