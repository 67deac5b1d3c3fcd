/** Finds the mount points of other volumes inside a volume. The kubelet creates these folders, since containers mount the volume read-only. */
import { dirname, normalize } from 'node:path';
import type { Pod } from '../../../../shared/kubernetes/api.ts';

/** The mount paths of one container: those of each volume, and all paths sorted. */
interface MountPaths {
  readonly byVolume: ReadonlyMap<string, readonly string[]>;
  readonly sorted: readonly string[];
}

/**
 * Returns a function that lists the folders to create in a volume, relative to its root (upstream pkg/volume/util/nested_volumes.go). The
 * function throws an Error when a mount path leads out of the volume. A pod may have tens of thousands of mounts: they are sorted once for
 * all its volumes.
 */
export function nestedMountpoints({ spec }: Pod): (volume: string) => string[] {
  let containers: MountPaths[] | undefined;
  return (volume) => {
    containers ??= [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])].map(mountPathsOf);
    return containers.flatMap(({ byVolume, sorted }) => (byVolume.get(volume) ?? []).flatMap((path) => directlyBelow(path, sorted)));
  };
}

function mountPathsOf({ volumeMounts = [] }: Pod['spec']['containers'][number]): MountPaths {
  const byVolume = new Map<string, string[]>();
  for (const { name, mountPath } of volumeMounts) {
    const paths = byVolume.get(name) ?? [];
    paths.push(normalize(mountPath).replace(/(?<=.)\/$/, ''));
    byVolume.set(name, paths);
  }
  return { byVolume, sorted: [...byVolume.values()].flat().sort() };
}

/** Returns the mount paths below `base` that are not within another returned path, relative to `base`. */
function directlyBelow(base: string, sorted: readonly string[]): string[] {
  if (base === '..' || base.startsWith('../')) throw new Error(`invalid container mount point ${base}`);
  const prefix = `${base}/`;
  const nestedPaths = new Set<string>();
  // Paths with a common prefix are adjacent, and an outer path comes before the paths within it.
  for (let index = firstIndexFrom(prefix, sorted); index < sorted.length; index += 1) {
    const path = sorted[index] ?? '';
    if (!path.startsWith(prefix)) break;
    if (!isWithinAny(path, nestedPaths, base)) nestedPaths.add(path);
  }
  return [...nestedPaths].map((path) => path.slice(prefix.length));
}

function isWithinAny(path: string, outer: ReadonlySet<string>, base: string): boolean {
  for (let ancestor = dirname(path); ancestor.length > base.length; ancestor = dirname(ancestor)) if (outer.has(ancestor)) return true;
  return false;
}

/** Returns the index of the first element that is not less than `text`. */
function firstIndexFrom(text: string, sorted: readonly string[]): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? '') < text) low = middle + 1;
    else high = middle;
  }
  return low;
}
