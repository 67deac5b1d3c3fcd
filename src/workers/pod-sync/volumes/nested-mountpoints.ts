/** Where other volumes are mounted within one: the folders must be there before, since the volume is read-only to containers. */
import { normalize } from 'node:path';
import type { Pod } from '../../../shared/kubernetes/api.ts';

/** Folders to make in the volume, relative to it (upstream pkg/volume/util/nested_volumes.go). Throws an Error on a path that leads out. */
export function nestedMountpoints({ spec }: Pod, volume: string): string[] {
  const containers = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  return containers.flatMap(({ volumeMounts = [] }) => {
    const mounts = volumeMounts.map(({ name, mountPath }) => ({ name, path: normalize(mountPath).replace(/(?<=.)\/$/, '') }));
    const all = mounts.map(({ path }) => path).sort();
    return mounts.filter(({ name }) => name === volume).flatMap(({ path }) => directlyBelow(path, all));
  });
}

function directlyBelow(base: string, all: readonly string[]): string[] {
  if (base === '..' || base.startsWith('../')) throw new Error(`invalid container mount point ${base}`);
  const below: string[] = [];
  for (const path of all.filter((other) => other.startsWith(`${base}/`))) {
    if (!below.some((outer) => path.startsWith(`${outer}/`))) below.push(path);
  }
  return below.map((path) => path.slice(base.length + 1));
}
