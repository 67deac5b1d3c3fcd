/**
 * What is mounted at a place of the kubelet's own, asked of that place (as upstream's IsLikelyNotMountPoint does): a mount has another
 * device than the folder that it is in. The kernel's table says it too, but on a node of a hundred pods it has a thousand lines that take the
 * kernel 10 ms to write, and each sync of each pod would read it twice. A place whose filesystem may hang is not for this.
 */
import { dirname } from 'node:path';
import { lstat, statfs } from '../blocking-fs.ts';

export type MountedFilesystem = 'tmpfs' | 'hugetlbfs' | 'other';

/** Of linux/magic.h. */
const filesystems: ReadonlyMap<number, MountedFilesystem> = new Map([
  [0x01021994, 'tmpfs'],
  [0x958458f6, 'hugetlbfs'],
]);

/** Undefined: nothing is mounted at exactly this place, or there is no such place. A symlink is not followed. */
export async function mountedFilesystemAt(path: string): Promise<MountedFilesystem | undefined> {
  try {
    const [there, around] = [await lstat(path), await lstat(dirname(path))];
    if (!there.isDirectory() || there.dev === around.dev) return undefined;
    return filesystems.get((await statfs(path)).type) ?? 'other';
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw err;
  }
}
