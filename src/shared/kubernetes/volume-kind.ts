/** Which of a pod's volumes are used, and what each is. Pure. */
import type { Pod, Volume } from './api.ts';

type Source<K extends keyof Volume> = NonNullable<Volume[K]>;

export type VolumeKind =
  | { readonly kind: 'emptyDir'; readonly source: Source<'emptyDir'> }
  | { readonly kind: 'hostPath'; readonly source: Source<'hostPath'> }
  | { readonly kind: 'downwardAPI'; readonly source: Source<'downwardAPI'> }
  | { readonly kind: 'projected'; readonly source: Source<'projected'> }
  | { readonly kind: 'configMap'; readonly source: Source<'configMap'> }
  | { readonly kind: 'secret'; readonly source: Source<'secret'> }
  /** Pulled, and mounted by the runtime: nothing is set up here. */
  | { readonly kind: 'image' };

/** Folder names under `volumes/`. */
export const pluginNames = {
  emptyDir: 'kubernetes.io/empty-dir',
  downwardAPI: 'kubernetes.io/downward-api',
  projected: 'kubernetes.io/projected',
  configMap: 'kubernetes.io/configmap',
  secret: 'kubernetes.io/secret',
} as const;

/** As metrics have it: also of those that have no folder. */
export function pluginNameOf({ kind }: VolumeKind): string {
  if (kind === 'image') return 'kubernetes.io/image';
  return kind === 'hostPath' ? 'kubernetes.io/host-path' : pluginNames[kind];
}

/** Throws an Error that says why the volume cannot be had. */
export function kindOf(volume: Volume): VolumeKind {
  const { name, emptyDir, hostPath, downwardAPI, projected, configMap, secret, image } = volume;
  if (hostPath) return { kind: 'hostPath', source: hostPath };
  if (downwardAPI) return { kind: 'downwardAPI', source: downwardAPI };
  if (projected) return { kind: 'projected', source: projected };
  if (configMap) return { kind: 'configMap', source: configMap };
  if (secret) return { kind: 'secret', source: secret };
  if (image) return { kind: 'image' };
  const [other] = Object.keys(volume).filter((key) => key !== 'name' && volume[key as keyof Volume] !== undefined);
  // A volume without a source is an emptyDir.
  if (emptyDir || other === undefined) return { kind: 'emptyDir', source: emptyDir ?? {} };
  throw new Error(`can't use volume plugins for ${name}: this kubelet has none for ${other}`);
}

/** Kinds whose files the kubelet writes: read-only to containers, and brought up to date by each sync. */
export function isWritten(kind: VolumeKind['kind']): kind is WrittenKind {
  return kind === 'downwardAPI' || kind === 'projected' || kind === 'configMap' || kind === 'secret';
}

export type WrittenKind = 'downwardAPI' | 'projected' | 'configMap' | 'secret';

/** Volumes that no container mounts are not set up, as upstream. */
export function usedVolumes({ spec }: Pod): Volume[] {
  const containers = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  const used = new Set(
    containers.flatMap(({ volumeMounts = [], volumeDevices = [] }) => [...volumeMounts, ...volumeDevices].map(({ name }) => name)),
  );
  return (spec.volumes ?? []).filter(({ name }) => used.has(name));
}
