/**
 * What another kubelet of this node has left in `status.volumesInUse`: the controller detaches no volume that is listed there. This kubelet mounts no such
 * volume, so the list is emptied once none is mounted any more.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { podsDir } from '../../../shared/kubernetes/paths.ts';
import { volumeKindsByFolder } from '../../../shared/kubernetes/volume-kind.ts';
import { isWithin, readMountsBelow, type MountInfo } from '../../../shared/linux/mountinfo.ts';
import type { Logger } from '../../../shared/log/logger.ts';

export interface LeftVolumesOptions {
  readonly rootDir: string;
  readonly logger: Logger;
}

export class LeftVolumes {
  readonly #options: LeftVolumesOptions;
  #isMounted = true;

  constructor(options: LeftVolumesOptions) {
    this.#options = options;
  }

  /**
   * Reads the mounts while names are listed. Never rejects: unreadable mounts count as volumes.
   * @param listed the names in the Node of the API server
   */
  async refresh(listed: readonly string[]): Promise<void> {
    const { rootDir, logger } = this.#options;
    this.#isMounted = true;
    if (listed.length === 0) return;
    try {
      const [mounts, { dev }] = await Promise.all([readMountsBelow(rootDir), stat(rootDir)]);
      this.#isMounted = mounts.some((mount) => mayHoldAttachedVolume(mount, { rootDir, rootDevice: deviceText(dev) }));
    } catch (err) {
      logger.warn({ err: messageOf(err) }, 'Failed to read whether volumes of another kubelet are still mounted');
    }
  }

  /** The value for the status. Null: it stays as it is. */
  volumesInUse(): readonly string[] | null {
    return this.#isMounted ? null : [];
  }
}

/** True for a mount of a plugin, and for one of a pod that may be of an attached volume. Pure. */
export function mayHoldAttachedVolume(
  { mountPoint, fsType, device }: Pick<MountInfo, 'mountPoint' | 'fsType' | 'device'>,
  { rootDir, rootDevice }: { readonly rootDir: string; readonly rootDevice: string },
): boolean {
  if (isWithin(mountPoint, join(rootDir, 'plugins'))) return true;
  const pods = podsDir(rootDir);
  if (!isWithin(mountPoint, pods)) return false;
  const [, folder, plugin = ''] = mountPoint.slice(pods.length + 1).split('/');
  if (folder === 'volumes') return volumeKindsByFolder.get(plugin)?.attached ?? true;
  // The path of a subpath does not have the plugin's name.
  return folder !== 'volume-subpaths' || (fsType !== 'tmpfs' && device !== rootDevice);
}

/** `major:minor`, as in the mount table, of a number of stat(2) (glibc's makedev). */
function deviceText(dev: number): string {
  const bits = BigInt(dev);
  const major = ((bits >> 8n) & 0xfffn) | ((bits >> 32n) & 0xfffff000n);
  const minor = (bits & 0xffn) | ((bits >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}
