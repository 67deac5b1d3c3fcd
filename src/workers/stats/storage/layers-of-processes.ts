/**
 * Finds the writable layers of containers whose root file system has a name of the runtime's own in the mount table, as CRI-O's: `<storage>/overlay/<layer>/merged`.
 * The root of a container's process is a mount of the same file system, so it has the same device. The paths are taken from the node's own table: what a
 * container mounts for itself can only be missing there.
 */
import { parseMountInfo } from '../../../shared/linux/mountinfo.ts';
import { upperFolder } from './parse-writable-layers.ts';

export interface LayersOfProcessesOptions {
  /** A process of the container. Undefined: none is known. */
  readonly processOf: (containerID: string) => number | undefined;
  /** `/proc/<pid>/mountinfo`. Undefined when the process has ended. */
  readonly readMounts: (pid: number) => string | undefined;
}

/** The first process may not have entered its root yet. */
const maxReads = 3;

export class LayersOfProcesses {
  readonly #options: LayersOfProcessesOptions;
  /** By container ID. A device is kept, as a container keeps its root file system. Null: its root is no overlay, as often as it was read. */
  #devices = new Map<string, { readonly device: string | null; readonly reads: number }>();

  constructor(options: LayersOfProcessesOptions) {
    this.#options = options;
  }

  /** The folders of the writable layers of these containers, as far as they are found. */
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
    // Not remembered: the container has just started, or ends.
    if (mounts === undefined) return null;
    const device = rootDevice(mounts);
    this.#devices.set(containerID, { device, reads: (known?.reads ?? 0) + 1 });
    return device;
  }
}

/** The upper folder of each overlay, by its device. */
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
