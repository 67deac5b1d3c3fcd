/** The mount options of a persistent volume (upstream MountOptionFromSpec in pkg/volume/util). Pure. */
import type { PersistentVolume } from '../volume-objects.ts';

/** The old form of `spec.mountOptions`, which it replaces if it is set. */
const annotation = 'volume.beta.kubernetes.io/mount-options';

export function mountOptionsOf({ metadata, spec }: PersistentVolume): string[] {
  const options = metadata.annotations?.[annotation]?.split(',') ?? spec?.mountOptions ?? [];
  return [...new Set(options.filter((option) => option !== ''))].sort();
}
