/** Reads the usage of a filesystem with statfs(2), as cadvisor does, and its device. */
import { readFile, realpath, stat, statfs } from 'node:fs/promises';
import type { FilesystemRow } from './filesystem-table.ts';
import { isWithin, parseMountInfo, type MountInfo } from '../linux/mountinfo.ts';

/** BTRFS_SUPER_MAGIC of linux/magic.h. */
const btrfsMagic = 0x9123683e;

/** Rejects with Node's error. May hang with the filesystem: the caller needs a deadline, and must not call again meanwhile. */
export async function readFilesystemUsage(path: string, nowMs: number): Promise<FilesystemRow> {
  const [{ type, bsize, blocks, bfree, bavail, files, ffree }, { dev }] = await Promise.all([statfs(path), stat(path)]);
  return {
    readAtMs: nowMs,
    device: type === btrfsMagic ? ((await readBtrfsDevice(path)) ?? dev) : dev,
    capacityBytes: blocks * bsize,
    availableBytes: bavail * bsize,
    usedBytes: (blocks - bfree) * bsize,
    inodes: files,
    inodesFree: ffree,
    inodesUsed: files - ffree,
  };
}

async function readBtrfsDevice(path: string): Promise<number | undefined> {
  const [mountTable, resolved] = await Promise.all([readFile('/proc/self/mountinfo', 'utf8'), realpath(path)]);
  return btrfsDevice(parseMountInfo(mountTable), resolved);
}

/**
 * Returns the device number of the whole btrfs filesystem that a path without links is on; undefined when no mount of btrfs contains it. stat(2) returns a
 * different number for each subvolume, but the subvolumes share their space. cadvisor compares the source of the mount (mountInfoFromDir of fs/fs.go).
 */
export function btrfsDevice(mounts: readonly MountInfo[], path: string): number | undefined {
  const containing = mounts.filter(({ mountPoint }) => isWithin(path, mountPoint));
  // The deepest mount counts; of several mounts at one place, the last.
  const [mount] = containing.sort((a, b) => b.mountPoint.length - a.mountPoint.length || mounts.indexOf(b) - mounts.indexOf(a));
  return mount?.fsType === 'btrfs' ? toDeviceNumber(mount.device) : undefined;
}

/** The number that stat(2) has for `major:minor` (gnu_dev_makedev). */
export function toDeviceNumber(text: string): number {
  const [major = 0, minor = 0] = text.split(':').map(Number);
  return Number((BigInt(major & 0xfff) << 8n) | BigInt(minor & 0xff) | (BigInt(minor >>> 8) << 20n));
}
