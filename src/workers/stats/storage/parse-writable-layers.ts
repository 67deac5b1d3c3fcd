/**
 * Finds the writable layers of containers in the node's mount table: the `upperdir` of the overlay that the runtime mounts for each container. Pure.
 * containerd mounts it at `<state>/io.containerd.runtime.v2.task/k8s.io/<container ID>/rootfs`.
 */
import { basename, dirname } from 'node:path';
import { parseMountInfo, type MountInfo } from '../../../shared/linux/mountinfo.ts';

const upperOption = 'upperdir=';

/** Returns the folder of each container's writable layer, by container ID. Of several mounts for one container, the first one counts: it is the runtime's. */
export function parseWritableLayers(mountTable: string): Map<string, string> {
  const layers = new Map<string, string>();
  for (const line of mountTable.split('\n')) {
    if (!line.includes('/rootfs ') || !line.includes(upperOption)) continue;
    for (const mount of parseMountInfo(line)) {
      const containerID = basename(dirname(mount.mountPoint));
      const upper = basename(mount.mountPoint) === 'rootfs' ? upperFolder(mount) : undefined;
      if (upper !== undefined && !layers.has(containerID)) layers.set(containerID, upper);
    }
  }
  return layers;
}

/** Returns the folder of the overlay's writable layer. Undefined for a read-only overlay, and for other filesystems. */
export function upperFolder({ fsType, superOptions }: MountInfo): string | undefined {
  if (fsType !== 'overlay') return undefined;
  const upper = superOptions.find((option) => option.startsWith(upperOption))?.slice(upperOption.length);
  // The kernel escapes special characters of a path. Runtimes use none.
  return upper?.startsWith('/') && !upper.includes('\\') ? upper : undefined;
}
