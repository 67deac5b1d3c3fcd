/**
 * Detects what is mounted at one path by comparing devices, as upstream's IsLikelyNotMountPoint does: a mount point has another device than
 * its parent folder. The kernel's mount table has the same information, but on a node of a hundred pods it has a thousand lines, which take
 * the kernel 10 ms to write, and each sync of each pod would read it twice. Only for paths of the kubelet: the calls block the thread when
 * a filesystem hangs.
 */
import { dirname } from 'node:path';
import { lstat, statfs } from '../blocking-fs.ts';

export type MountedFilesystem = 'tmpfs' | 'hugetlbfs' | 'other';

/** The magic numbers of linux/magic.h. */
const filesystems: ReadonlyMap<number, MountedFilesystem> = new Map([
  [0x01021994, 'tmpfs'],
  [0x958458f6, 'hugetlbfs'],
]);

/** Returns undefined when nothing is mounted at exactly this path, or when it does not exist. Does not follow a symlink. */
export async function mountedFilesystemAt(path: string): Promise<MountedFilesystem | undefined> {
  try {
    const [stats, parentStats] = [await lstat(path), await lstat(dirname(path))];
    if (!stats.isDirectory() || stats.dev === parentStats.dev) return undefined;
    return filesystems.get((await statfs(path)).type) ?? 'other';
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw err;
  }
}
