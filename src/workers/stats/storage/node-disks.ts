/**
 * Finds out which trees are on the node's own disks. A call on such a disk returns, or the node is lost anyway: every file of the kubelet and of the runtime is
 * there. A walk stays on the filesystem of its root, so a pod can't lead it elsewhere.
 */
import { dirname } from 'node:path';
import { mountOf } from '../../../shared/linux/mountinfo.ts';

/** Filesystems of disks and of memory, without servers and processes behind them. */
const localTypes: ReadonlySet<string> = new Set(['ext2', 'ext3', 'ext4', 'xfs', 'btrfs', 'f2fs', 'zfs', 'tmpfs']);

/** Returns a function for the paths of trees. Trees with the same grandparent (the snapshots of a runtime, the volumes of a plugin in a pod) share a look-up. */
export function onNodeDisks(mountTable: string): (path: string) => boolean {
  const known = new Map<string, boolean>();
  return (path) => {
    const folder = dirname(dirname(path));
    const knownResult = known.get(folder);
    if (knownResult !== undefined) return knownResult;
    const isLocal = localTypes.has(mountOf(mountTable, folder)?.fsType ?? '');
    known.set(folder, isLocal);
    return isLocal;
  };
}
