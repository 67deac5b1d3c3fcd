/**
 * Finds the writable layers of containers whose root filesystem is in the mount table under a path without the container's ID, as with CRI-O:
 * `<storage>/overlay/<layer>/merged`. The root of a container's process is a mount of the same filesystem, so it has the same device. The paths are taken from
 * the node's own mount table. A container that mounts another root for itself is not in that table, so it can only hide its own layer.
 */
import { parseMountInfo } from '../../../shared/linux/mountinfo.ts';
import { upperFolder } from './parse-writable-layers.ts';

export interface LayersOfProcessesOptions {
  /** Returns a process of the container; undefined when none is known. */
  readonly processOf: (containerID: string) => number | undefined;
  /** Reads `/proc/<pid>/mountinfo`. Undefined when the process has ended. */
  readonly readMounts: (pid: number) => string | undefined;
}

/** The first process may not have entered its root yet. */
const maxReads = 3;

export class LayersOfProcesses {
  readonly #options: LayersOfProcessesOptions;
  /** The device of each container's root, by container ID. A container keeps its root filesystem, so a known device is kept. Null: no overlay. */
  #devices = new Map<string, { readonly device: string | null; readonly reads: number }>();

  constructor(options: LayersOfProcessesOptions) {
    this.#options = options;
  }

  /** Returns the folders of the writable layers that were found, by container ID. */
  find(containerIDs: readonly string[], mountTable: string): Map<string, string> {
    const overlays = containerIDs.length > 0 ? overlaysByDevice(mountTable) : new Map<string, string>();
    this.#devices = new Map(containerIDs.flatMap((id) => (this.#devices.has(id) ? [[id, this.#devices.get(id)!]] : [])));
    const found = new Map<string, string>();
    if (overlays.size === 0) return found;
    for (const id of containerIDs) {
      const device = this.#deviceOf(id);
      const layer = device && overlays.get(device);
      if (layer) found.set(id, layer);
    }
    return found;
  }

  #deviceOf(containerID: string): string | null {
    const known = this.#devices.get(containerID);
    if (known && (known.device !== null || known.reads >= maxReads)) return known.device;
    const pid = this.#options.processOf(containerID);
    const mounts = pid === undefined ? undefined : this.#options.readMounts(pid);
    // This result is not kept: the container has just started, or ends.
    if (mounts === undefined) return null;
    const device = rootDevice(mounts);
    this.#devices.set(containerID, { device, reads: (known?.reads ?? 0) + 1 });
    return device;
  }
}

/** Returns the upper folder of each overlay, by the overlay's device. */
function overlaysByDevice(mountTable: string): Map<string, string> {
  const overlays = new Map<string, string>();
  for (const line of mountTable.split('\n')) {
    if (!line.includes(' - overlay ')) continue;
    for (const mount of parseMountInfo(line)) {
      const upper = upperFolder(mount);
      if (upper !== undefined && !overlays.has(mount.device)) overlays.set(mount.device, upper);
    }
  }
  return overlays;
}

function rootDevice(mounts: string): string | null {
  for (const line of mounts.split('\n')) {
    if (!line.includes(' / / ')) continue;
    for (const { mountPoint, root, fsType, device } of parseMountInfo(line)) {
      if (mountPoint === '/' && root === '/' && fsType === 'overlay') return device;
    }
  }
  return null;
}
