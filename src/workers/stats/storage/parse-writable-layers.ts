/**
 * Finds the writable layers of containers in the node's mount table: the `upperdir` of the overlay that the runtime mounts for each container. Pure.
 * containerd mounts it at `<state>/io.containerd.runtime.v2.task/k8s.io/<container ID>/rootfs`.
 */
import { basename, dirname } from 'node:path';
import { parseMountInfo } from '../../../shared/linux/mountinfo.ts';

const upperOption = 'upperdir=';

/** The folder of each container's writable layer, by container ID. Of several mounts for one container the first one counts, which is the runtime's. */
export function parseWritableLayers(mountTable: string): Map<string, string> {
  const layers = new Map<string, string>();
  for (const line of mountTable.split('\n')) {
    if (!line.includes('/rootfs ') || !line.includes(upperOption)) continue;
    for (const { mountPoint, fsType, superOptions } of parseMountInfo(line)) {
      if (fsType !== 'overlay' || basename(mountPoint) !== 'rootfs') continue;
      const containerID = basename(dirname(mountPoint));
      const upper = superOptions.find((option) => option.startsWith(upperOption))?.slice(upperOption.length);
      // The kernel escapes special characters of a path. Runtimes use none.
      if (!upper?.startsWith('/') || upper.includes('\\') || layers.has(containerID)) continue;
      layers.set(containerID, upper);
    }
  }
  return layers;
}
