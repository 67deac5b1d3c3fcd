/** Which of a pod's volumes are used, and what each is. Pure. */
import type { Pod, Volume } from '../../../shared/kubernetes/api.ts';

type Source<K extends keyof Volume> = NonNullable<Volume[K]>;

export type VolumeKind =
  | { readonly kind: 'emptyDir'; readonly source: Source<'emptyDir'> }
  | { readonly kind: 'hostPath'; readonly source: Source<'hostPath'> }
  | { readonly kind: 'downwardAPI'; readonly source: Source<'downwardAPI'> }
  | { readonly kind: 'projected'; readonly source: Source<'projected'> }
  /** Pulled, and mounted by the runtime: nothing is set up here. */
  | { readonly kind: 'image' };

/** Folder names under `volumes/`. */
export const pluginNames = {
  emptyDir: 'kubernetes.io/empty-dir',
  downwardAPI: 'kubernetes.io/downward-api',
  projected: 'kubernetes.io/projected',
} as const;

/** Throws an Error that says why the volume cannot be had. */
export function kindOf(volume: Volume): VolumeKind {
  const { name, emptyDir, hostPath, downwardAPI, projected, image } = volume;
  if (hostPath) return { kind: 'hostPath', source: hostPath };
  if (downwardAPI) return { kind: 'downwardAPI', source: downwardAPI };
  if (projected) return { kind: 'projected', source: checkProjected(name, projected) };
  if (image) return { kind: 'image' };
  const [other] = Object.keys(volume).filter((key) => key !== 'name' && volume[key as keyof Volume] !== undefined);
  // A volume without a source is an emptyDir.
  if (emptyDir || other === undefined) return { kind: 'emptyDir', source: emptyDir ?? {} };
  if (other === 'configMap' || other === 'secret') throw needsServer(other, name);
  throw new Error(`can't use volume plugins for ${name}: this kubelet has none for ${other}`);
}

function checkProjected(name: string, source: Source<'projected'>): Source<'projected'> {
  for (const projection of source.sources ?? []) {
    const kind = Object.keys(projection).find((key) => projection[key as keyof typeof projection] !== undefined);
    if (kind !== undefined && kind !== 'downwardAPI') throw needsServer(`projected ${kind}`, name);
  }
  return source;
}

function needsServer(what: string, name: string): Error {
  return new Error(
    `cannot setup ${what} volume ${name} because kube client is not configured: its content comes from the API server, and this kubelet runs standalone`,
  );
}

/** Volumes that no container mounts are not set up, as upstream. */
export function usedVolumes({ spec }: Pod): Volume[] {
  const containers = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  const used = new Set(
    containers.flatMap(({ volumeMounts = [], volumeDevices = [] }) => [...volumeMounts, ...volumeDevices].map(({ name }) => name)),
  );
  return (spec.volumes ?? []).filter(({ name }) => used.has(name));
}
