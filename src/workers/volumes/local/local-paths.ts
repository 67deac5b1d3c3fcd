/** Where local volumes are mounted: upstream's paths (pkg/volume/local), so that a node can switch between the Go kubelet and this one. Pure. */
import { join } from 'node:path';
import { podsDir, podVolumeDir } from '../../../shared/kubernetes/paths.ts';
import { isWithin, type MountInfo } from '../../../shared/linux/mountinfo.ts';

const plugin = 'kubernetes.io/local-volume';

/** Where the volume is mounted for a pod. Throws an Error for a name that leads elsewhere. */
export function localTarget(rootDir: string, podUID: string, specName: string): string {
  return podVolumeDir(rootDir, podUID, plugin, specName);
}

/** The directory with one mount point per block device, named after the persistent volume. */
export function deviceMountsDir(rootDir: string): string {
  return join(rootDir, 'plugins', plugin, 'mounts');
}

export function deviceMountPath(rootDir: string, specName: string): string {
  if (specName === '' || specName === '.' || specName === '..' || specName.includes('/'))
    throw new Error(`${JSON.stringify(specName)} cannot be the name of a persistent volume`);
  return join(deviceMountsDir(rootDir), specName);
}

/** Returns the mount that is visible at this path. */
export function mountAt(mounts: readonly MountInfo[], path: string): MountInfo | undefined {
  return mounts.findLast(({ mountPoint }) => mountPoint === path);
}

/**
 * Returns the mounts of the same folder in the folders of pods (upstream GetMountRefs and filterPodMounts).
 * @param mounts all mounts of the node, in the kernel's order
 * @param source a folder, without symlinks
 */
export function podMountsOf(mounts: readonly MountInfo[], rootDir: string, source: string): MountInfo[] {
  const containing = mounts.reduce<MountInfo | undefined>(
    (best, mount) => (isWithin(source, mount.mountPoint) && mount.mountPoint.length >= (best?.mountPoint.length ?? 0) ? mount : best),
    undefined,
  );
  if (!containing) return [];
  const root = join(containing.root, source.slice(containing.mountPoint.length));
  return mounts.filter(
    (mount) => mount.device === containing.device && mount.root === root && isWithin(mount.mountPoint, podsDir(rootDir)),
  );
}

/** Returns the mounts of this persistent volume in the folders of pods, by its name. */
export function podMountsNamed(mounts: readonly MountInfo[], rootDir: string, specName: string): MountInfo[] {
  const suffix = `/volumes/${plugin.replaceAll('/', '~')}/${specName}`;
  return mounts.filter(({ mountPoint }) => isWithin(mountPoint, podsDir(rootDir)) && mountPoint.endsWith(suffix));
}
