/** Where other volumes are mounted within one: the folders must be there before, since the volume is read-only to containers. */
import { dirname, normalize } from 'node:path';
import type { Pod } from '../../../shared/kubernetes/api.ts';

/** One container's mounts: where each volume is, and all places in order. */
interface Places {
  readonly byVolume: ReadonlyMap<string, readonly string[]>;
  readonly sorted: readonly string[];
}

/**
 * Answers with the folders to make in a volume, relative to it (upstream pkg/volume/util/nested_volumes.go). What it answers with throws an
 * Error on a path that leads out. A pod may have tens of thousands of mounts: they are put in order once for all its volumes.
 */
export function nestedMountpoints({ spec }: Pod): (volume: string) => string[] {
  let containers: Places[] | undefined;
  return (volume) => {
    containers ??= [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])].map(placesOf);
    return containers.flatMap(({ byVolume, sorted }) => (byVolume.get(volume) ?? []).flatMap((path) => directlyBelow(path, sorted)));
  };
}

function placesOf({ volumeMounts = [] }: Pod['spec']['containers'][number]): Places {
  const byVolume = new Map<string, string[]>();
  for (const { name, mountPath } of volumeMounts) {
    const paths = byVolume.get(name) ?? [];
    paths.push(normalize(mountPath).replace(/(?<=.)\/$/, ''));
    byVolume.set(name, paths);
  }
  return { byVolume, sorted: [...byVolume.values()].flat().sort() };
}

function directlyBelow(base: string, sorted: readonly string[]): string[] {
  if (base === '..' || base.startsWith('../')) throw new Error(`invalid container mount point ${base}`);
  const prefix = `${base}/`;
  const below = new Set<string>();
  // Those with one prefix stand together, an outer one before what is within it.
  for (let at = firstFrom(prefix, sorted); at < sorted.length; at += 1) {
    const path = sorted[at] ?? '';
    if (!path.startsWith(prefix)) break;
    if (!isWithinAny(path, below, base)) below.add(path);
  }
  return [...below].map((path) => path.slice(prefix.length));
}

function isWithinAny(path: string, outer: ReadonlySet<string>, base: string): boolean {
  for (let above = dirname(path); above.length > base.length; above = dirname(above)) if (outer.has(above)) return true;
  return false;
}

/** The index of the first that is not before `text`. */
function firstFrom(text: string, sorted: readonly string[]): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? '') < text) low = middle + 1;
    else high = middle;
  }
  return low;
}
