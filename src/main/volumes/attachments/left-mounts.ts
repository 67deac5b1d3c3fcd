/**
 * Mounts of volumes that the Node lists in `status.volumesInUse`, and that this kubelet does not know: another kubelet has left them, or their record is lost. Their names
 * stay in the list until they are unmounted.
 */
import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { podsDir } from '../../../shared/kubernetes/paths.ts';
import { isWithin, readMountsBelow, type MountInfo } from '../../../shared/linux/mountinfo.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import { noLeftMounts, stagingKeyOfFolder, type LeftMounts } from './compute-volumes-in-use.ts';

export interface LeftMountsReaderOptions {
  readonly rootDir: string;
  readonly logger: Logger;
}

export class LeftMountsReader {
  readonly #options: LeftMountsReaderOptions;
  #left: LeftMounts | null = null;

  constructor(options: LeftMountsReaderOptions) {
    this.#options = options;
  }

  /** Null: the mounts could not be read. */
  get current(): LeftMounts | null {
    return this.#left;
  }

  /**
   * Reads the mounts while such names are listed. Never rejects.
   * @param unknown the names in the Node of the API server that this kubelet does not know
   */
  async refresh(unknown: readonly string[]): Promise<void> {
    const { rootDir, logger } = this.#options;
    if (unknown.length === 0) {
      this.#left = noLeftMounts;
      return;
    }
    try {
      const [mounts, { dev }] = await Promise.all([readMountsBelow(rootDir), stat(rootDir)]);
      this.#left = leftMounts(mounts, { rootDir, rootDevice: deviceText(dev) });
    } catch (err) {
      this.#left = null;
      logger.warn({ err: messageOf(err) }, 'Failed to read whether volumes of another kubelet are still mounted');
    }
  }
}

type Mount = Pick<MountInfo, 'mountPoint' | 'fsType' | 'device'>;
interface Root {
  readonly rootDir: string;
  readonly rootDevice: string;
}

/** Pure. */
export function leftMounts(mounts: readonly Mount[], root: Root): LeftMounts {
  const places = mounts.map((mount) => placeOf(mount, root));
  return {
    staged: new Set(places.flatMap((place) => (place !== null && typeof place === 'object' ? [place.staged] : []))),
    csi: places.includes('csi-device'),
    other: places.includes('other'),
  };
}

const localPlugins = ['empty-dir', 'configmap', 'secret', 'downward-api', 'projected'].map((name) => `kubernetes.io~${name}`);

/**
 * Returns what may be mounted at the mount point: a staged CSI volume, by its folder; any block device of CSI; any volume of another plugin; or no
 * volume that is attached to the node (null).
 */
function placeOf(
  { mountPoint, fsType, device }: Mount,
  { rootDir, rootDevice }: Root,
): { readonly staged: string } | 'csi-device' | 'other' | null {
  const plugins = join(rootDir, 'plugins');
  if (isWithin(mountPoint, plugins)) {
    const [vendor, plugin, driver = '', folder = ''] = mountPoint.slice(plugins.length + 1).split('/');
    if (vendor !== 'kubernetes.io' || plugin !== 'csi') return 'other';
    return driver === 'volumeDevices' ? 'csi-device' : { staged: stagingKeyOfFolder(driver, folder) };
  }
  const pods = podsDir(rootDir);
  if (!isWithin(mountPoint, pods)) return null;
  const [, kind, plugin = ''] = mountPoint.slice(pods.length + 1).split('/');
  if (kind === 'volumeDevices') return plugin === 'kubernetes.io~csi' ? 'csi-device' : 'other';
  // A published CSI volume is also staged, or has a record.
  if (kind === 'volumes') return localPlugins.includes(plugin) || plugin === 'kubernetes.io~csi' ? null : 'other';
  // The path of a subpath does not have the plugin's name.
  return kind === 'volume-subpaths' && fsType !== 'tmpfs' && device !== rootDevice ? 'other' : null;
}

/** `major:minor`, as in the mount table, of a number of stat(2) (glibc's makedev). */
function deviceText(dev: number): string {
  const bits = BigInt(dev);
  const major = ((bits >> 8n) & 0xfffn) | ((bits >> 32n) & 0xfffff000n);
  const minor = (bits & 0xffn) | ((bits >> 12n) & 0xffffff00n);
  return `${major}:${minor}`;
}
