/** Classifies a pod's volumes by kind and selects those that containers mount. Pure. */
import type { Pod, Volume } from './api.ts';

type Source<K extends keyof Volume> = NonNullable<Volume[K]>;

export type VolumeKind =
  | { readonly kind: 'emptyDir'; readonly source: Source<'emptyDir'> }
  | { readonly kind: 'hostPath'; readonly source: Source<'hostPath'> }
  | { readonly kind: 'downwardAPI'; readonly source: Source<'downwardAPI'> }
  | { readonly kind: 'projected'; readonly source: Source<'projected'> }
  | { readonly kind: 'configMap'; readonly source: Source<'configMap'> }
  | { readonly kind: 'secret'; readonly source: Source<'secret'> }
  /** The images thread pulls the image and the runtime mounts it. The kubelet sets up no files. */
  | { readonly kind: 'image' };

/** Folder names below `volumes/`. */
export const pluginNames = {
  emptyDir: 'kubernetes.io/empty-dir',
  downwardAPI: 'kubernetes.io/downward-api',
  projected: 'kubernetes.io/projected',
  configMap: 'kubernetes.io/configmap',
  secret: 'kubernetes.io/secret',
} as const;

/** Returns the plugin name for metrics. Kinds without a folder have a name too. */
export function pluginNameOf({ kind }: VolumeKind): string {
  if (kind === 'image') return 'kubernetes.io/image';
  return kind === 'hostPath' ? 'kubernetes.io/host-path' : pluginNames[kind];
}

/** Throws an Error with the reason when this kubelet does not support the volume. */
export function volumeKind(volume: Volume): VolumeKind {
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

/** True for kinds whose files the kubelet writes. They are read-only for containers, and each sync updates them. */
export function isWrittenByKubelet(kind: VolumeKind['kind']): kind is WrittenKind {
  return kind === 'downwardAPI' || kind === 'projected' || kind === 'configMap' || kind === 'secret';
}

export type WrittenKind = 'downwardAPI' | 'projected' | 'configMap' | 'secret';

/** Returns the volumes that at least one container mounts. Upstream sets up no others. */
export function volumesToMount({ spec }: Pod): Volume[] {
  const containers = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  const referencedNames = new Set(
    containers.flatMap(({ volumeMounts = [], volumeDevices = [] }) => [...volumeMounts, ...volumeDevices].map(({ name }) => name)),
  );
  return (spec.volumes ?? []).filter(({ name }) => referencedNames.has(name));
}
