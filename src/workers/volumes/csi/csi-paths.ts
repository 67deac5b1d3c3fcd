/** Where the files of CSI volumes are. The paths equal upstream's (pkg/volume/csi), so that a node can switch between the Go kubelet and this one. Pure. */
import { createHash } from 'node:crypto';
import { basename, dirname, join } from 'node:path';
import { podVolumeDir } from '../../../shared/kubernetes/paths.ts';
import { volumeKinds } from '../../../shared/kubernetes/volume-kind.ts';

/** Upstream's name of the plugin, and of the folder of a pod's volumes. */
export const csiPlugin = volumeKinds.csi.plugin;

/** The directory with one folder per driver. */
export function csiPluginDir(rootDir: string): string {
  return join(rootDir, 'plugins', csiPlugin);
}

/** Whether a driver may have this name, which is also the name of a folder: upstream's validation of CSIDriver (DNS-1123 labels, at most 63 characters). */
export function isDriverName(name: string): boolean {
  return name.length <= 63 && /^[a-z0-9A-Z]([-a-z0-9A-Z.]*[a-z0-9A-Z])?$/.test(name) && !name.includes('..');
}

/** The staging path of a volume. Throws an Error for the name of a driver that leads elsewhere. */
export function stagingPath(rootDir: string, driver: string, volumeHandle: string): string {
  if (!isDriverName(driver)) throw new Error(`${JSON.stringify(driver.slice(0, 100))} cannot be the name of a CSI driver`);
  return join(csiPluginDir(rootDir), driver, createHash('sha256').update(volumeHandle).digest('hex'), 'globalmount');
}

/** The path at which a volume is published for a pod. */
export function targetPath(rootDir: string, podUID: string, specName: string): string {
  return join(podVolumeDir(rootDir, podUID, csiPlugin, specName), volumeKinds.csi.filesIn);
}

/** The record beside a staging path or a target path. */
export function volumeDataPath(mountPath: string): string {
  return join(dirname(mountPath), 'vol_data.json');
}

/** The name of the pod's volume folder. */
export function specNameOf(target: string): string {
  return basename(dirname(target));
}
