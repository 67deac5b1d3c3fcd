/**
 * Finds the volumes of all pods: the folders `<rootDir>/pods/<uid>/volumes/<plugin>/<name>`. Only the kubelet changes the folders above the volumes, which are
 * small, so the reads are synchronous.
 */
import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as nextIteration } from 'node:timers/promises';
import type { PodUID } from '../../../shared/kubernetes/ids.ts';
import { volumeKindsByFolder } from '../../../shared/kubernetes/volume-kind.ts';
import type { MountInfo } from '../../../shared/linux/mountinfo.ts';

export interface VolumeFolder {
  readonly podUID: PodUID;
  readonly name: string;
  readonly plugin: string;
  readonly path: string;
  /** The filesystem that is mounted at the path; null for a folder in the filesystem of the root directory. */
  readonly mount: { readonly fsType: string; readonly device: string } | null;
}

/** For the folder of a plugin that only another kubelet has: its volumes are measured if they are mounted. */
const unknownKind = { usage: 'mount', filesIn: '' } as const;
/** Their folders take some milliseconds. Then the search yields to the event loop. */
const podsPerIteration = 25;

/** @param mounts the mounts below `podsFolder`, in the kernel's order: of several mounts at one path, the last one counts */
export async function findVolumes(podsFolder: string, mounts: readonly MountInfo[]): Promise<VolumeFolder[]> {
  const mountAt = new Map(mounts.map(({ mountPoint, fsType, device }) => [mountPoint, { fsType, device }]));
  const found: VolumeFolder[] = [];
  for (const [index, podUID] of namesIn(podsFolder).entries()) {
    if (index % podsPerIteration === podsPerIteration - 1) await nextIteration();
    const volumesFolder = join(podsFolder, podUID, 'volumes');
    for (const plugin of namesIn(volumesFolder)) {
      const { usage, filesIn } = volumeKindsByFolder.get(plugin) ?? unknownKind;
      for (const name of namesIn(join(volumesFolder, plugin))) {
        const path = join(volumesFolder, plugin, name, filesIn);
        const mount = mountAt.get(path) ?? null;
        // Other kinds are measured if they are a mount; hostPath, image and gitRepo volumes never are (MetricsNil).
        if (mount || usage === 'walk') found.push({ podUID: podUID as PodUID, name, plugin, path, mount });
      }
    }
  }
  return found;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (err) {
    if (['ENOENT', 'ENOTDIR'].includes((err as NodeJS.ErrnoException).code ?? '')) return [];
    throw err;
  }
}
