/**
 * Measures the filesystems of the node's devices, and the I/O of these devices. The mount table is read again every five minutes, together with the machine's
 * information. Mounts of pods and containers do not count, nor do network filesystems, which may hang. Upstream: cadvisor's fs/fs.go.
 */
import { readFileSync } from 'node:fs';
import { isWithin, parseMountInfo, type MountInfo } from '../../shared/linux/mountinfo.ts';
import { readFilesystemUsage, toDeviceNumber } from '../../shared/state/filesystem-usage.ts';
import { maxNodeFilesystems, noIo, type DiskIo, type NodeFilesystem } from '../../shared/state/node-filesystem-table.ts';

export interface NodeMount {
  readonly device: string;
  readonly mountPoint: string;
  /** `8:1` */
  readonly deviceNumber: string;
}

/** cadvisor's filesystems on devices, without zfs and devicemapper. */
const deviceTypes = /^(?:ext\d?|xfs|btrfs|squashfs|f2fs|jfs|reiserfs|hfs|hfsplus|ntfs|vfat|fat|msdos|exfat|udf|iso9660)$/;
/** The width of the table's column. */
const maxDeviceBytes = 256;

/** Returns the first mount of each device, the overlay at `/`, and each tmpfs that is no sandbox's. */
export function pickNodeMounts(mounts: readonly MountInfo[], rootDir: string): NodeMount[] {
  const picked = new Map<string, NodeMount>();
  const add = (device: string, { mountPoint, device: deviceNumber }: MountInfo) => {
    if (picked.size < maxNodeFilesystems && !picked.has(device) && Buffer.byteLength(device) <= maxDeviceBytes)
      picked.set(device, { device, mountPoint, deviceNumber });
  };
  const mountsOutsidePods = mounts.filter(({ mountPoint }) => !isWithin(mountPoint, `${rootDir}/pods`));
  for (const mount of mountsOutsidePods) if (deviceTypes.test(mount.fsType)) add(mount.source, mount);
  for (const mount of mountsOutsidePods) {
    const { fsType, source, device, mountPoint } = mount;
    if (fsType === 'overlay' && mountPoint === '/') add(`${source}_${device.replace(':', '-')}`, mount);
    // A sandbox's /dev/shm is mounted in the runtime's folder.
    if (fsType === 'tmpfs' && (mountPoint === '/dev/shm' || !mountPoint.endsWith('/shm'))) add(mountPoint, mount);
  }
  return [...picked.values()];
}

/** The fields of `noIo` have the order of the columns of /proc/diskstats. */
const ioNames = Object.keys(noIo) as (keyof DiskIo)[];

/** Parses the lines `8 1 sda1 reads merged sectors ms writes …` of /proc/diskstats. Keyed by `8:1`. */
export function parseDiskstats(text: string): Map<string, DiskIo> {
  const devices = new Map<string, DiskIo>();
  for (const line of text.split('\n')) {
    const [major, minor, , ...values] = line.trim().split(/\s+/);
    const numbers = ioNames.map((_, index) => Number(values[index]));
    if (major === undefined || minor === undefined || numbers.some(Number.isNaN)) continue;
    devices.set(`${major}:${minor}`, Object.fromEntries(ioNames.map((name, index) => [name, numbers[index]])) as unknown as DiskIo);
  }
  return devices;
}

export class NodeFilesystems {
  readonly #rootDir: string;
  readonly #put: (filesystems: readonly NodeFilesystem[]) => void;
  #mounts: readonly NodeMount[] = [];
  #isReading = false;

  /** @param put stores the result of each sample */
  constructor(rootDir: string, put: (filesystems: readonly NodeFilesystem[]) => void) {
    this.#rootDir = rootDir;
    this.#put = put;
  }

  /** Reads the mount table. */
  findMounts(): void {
    this.#mounts = pickNodeMounts(parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')), this.#rootDir);
  }

  /** The sampler does not wait for the result: a filesystem that hangs occupies one file thread, and the rows are not updated. */
  async sample(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      const io = parseDiskstats(readFileSync('/proc/diskstats', 'latin1'));
      const found: NodeFilesystem[] = [];
      for (const { device, mountPoint, deviceNumber } of this.#mounts) {
        // A filesystem may be unmounted meanwhile.
        const usage = await readFilesystemUsage(mountPoint, 0).catch(() => undefined);
        if (!usage) continue;
        const { capacityBytes, usedBytes, inodes, inodesFree } = usage;
        found.push({
          device,
          deviceNumber: toDeviceNumber(deviceNumber),
          capacityBytes,
          usedBytes,
          inodes,
          inodesFree,
          ...(io.get(deviceNumber) ?? noIo),
        });
      }
      this.#put(found);
    } finally {
      this.#isReading = false;
    }
  }
}
