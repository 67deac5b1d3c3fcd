/** Classifies a pod's volumes by kind and selects those that containers mount. Pure. */
import type { Pod, Volume } from './api.ts';

interface VolumeKindFacts {
  /** Upstream's name of the plugin: in metrics, and for kinds with a folder of their own below `volumes/`. */
  readonly plugin: string;
  /**
   * How the stats thread measures a volume. `walk`: its folder, file by file, or with statfs when it is a mount. `mount`: with statfs, when it is a mount (upstream's
   * MetricsStatFS). `none`: never (upstream's MetricsNil). `driver`: by the driver, which this kubelet does not ask yet.
   */
  readonly usage: 'walk' | 'mount' | 'driver' | 'none';
}

/**
 * The kinds of volumes for which upstream's kubelet has a plugin (cmd/kubelet/app/plugins.go), by their field in the pod: what all threads know of them. The
 * table of those that this kubelet mounts, and how, is in workers/pod-sync/pod/volumes/plugins/.
 */
export const volumeKinds = {
  hostPath: { plugin: 'kubernetes.io/host-path', usage: 'none' },
  downwardAPI: { plugin: 'kubernetes.io/downward-api', usage: 'walk' },
  projected: { plugin: 'kubernetes.io/projected', usage: 'walk' },
  configMap: { plugin: 'kubernetes.io/configmap', usage: 'walk' },
  secret: { plugin: 'kubernetes.io/secret', usage: 'walk' },
  image: { plugin: 'kubernetes.io/image', usage: 'none' },
  // A claim's volume may also be a local volume or a hostPath.
  persistentVolumeClaim: { plugin: 'kubernetes.io/csi', usage: 'driver' },
  ephemeral: { plugin: 'kubernetes.io/csi', usage: 'driver' },
  csi: { plugin: 'kubernetes.io/csi', usage: 'driver' },
  emptyDir: { plugin: 'kubernetes.io/empty-dir', usage: 'walk' },
  gitRepo: { plugin: 'kubernetes.io/git-repo', usage: 'none' },
  nfs: { plugin: 'kubernetes.io/nfs', usage: 'mount' },
  iscsi: { plugin: 'kubernetes.io/iscsi', usage: 'mount' },
  fc: { plugin: 'kubernetes.io/fc', usage: 'none' },
} as const satisfies Partial<Record<Exclude<keyof Volume, 'name'>, VolumeKindFacts>>;

export type VolumeKindName = keyof typeof volumeKinds;

export type VolumeSource<K extends VolumeKindName> = NonNullable<Volume[K]>;

export type VolumeKind = { readonly [K in VolumeKindName]: { readonly kind: K; readonly source: VolumeSource<K> } }[VolumeKindName];

const kindNames = Object.keys(volumeKinds) as VolumeKindName[];

/** Throws an Error with the reason when upstream's kubelet has no plugin for the volume. */
export function volumeKind(volume: Volume): VolumeKind {
  const kind = kindNames.find((name) => volume[name]);
  if (kind) return { kind, source: volume[kind] } as VolumeKind;
  const [other] = Object.keys(volume).filter((key) => key !== 'name' && volume[key as keyof Volume] !== undefined);
  // A volume without a source is an emptyDir.
  if (other === undefined) return { kind: 'emptyDir', source: {} };
  throw unsupportedVolume(volume, other);
}

/** Returns the error of a volume that this kubelet cannot mount. */
export function unsupportedVolume({ name }: Volume, field: string): Error {
  return new Error(`can't use volume plugins for ${name}: this kubelet has none for ${field}`);
}

/** Returns the volumes that at least one container mounts. Upstream sets up no others. */
export function volumesToMount({ spec }: Pod): Volume[] {
  const containers = [...spec.containers, ...(spec.initContainers ?? []), ...(spec.ephemeralContainers ?? [])];
  const referencedNames = new Set(
    containers.flatMap(({ volumeMounts = [], volumeDevices = [] }) => [...volumeMounts, ...volumeDevices].map(({ name }) => name)),
  );
  return (spec.volumes ?? []).filter(({ name }) => referencedNames.has(name));
}
