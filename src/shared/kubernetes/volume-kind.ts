/** Classifies a pod's volumes by kind and selects those that containers mount. Pure. */
import type { Pod, Volume } from './api.ts';
import { escapeQualifiedName } from './paths.ts';

interface VolumeKindFacts {
  /** Upstream's name of the plugin: in metrics, and for kinds with a folder of their own below `volumes/`. */
  readonly plugin: string;
  /**
   * How the stats thread measures a volume. `walk`: its folder, file by file, or with statfs when the folder is a mount point. `mount`: with statfs, when
   * the folder is a mount point (upstream's MetricsStatFS). `none`: never (upstream's MetricsNil). `driver`: by the driver, or
   * with statfs where the driver does not measure.
   */
  readonly usage: 'walk' | 'mount' | 'driver' | 'none';
  /**
   * Whether the volume counts as local ephemeral storage of its pod (upstream: IsLocalEphemeralVolume). `onDisk`: unless it is a mount, as an emptyDir in
   * memory is.
   */
  readonly ephemeral: 'always' | 'onDisk' | 'never';
  /** The subfolder of the volume's folder that holds the files. Empty: the volume's folder itself. */
  readonly filesIn: string;
}

const notEphemeral = { ephemeral: 'never', filesIn: '' } as const;
/** Volumes of CSI drivers. A claim's volume counts as one, although it may also be a local volume or a path of the host. */
const ofDriver = { plugin: 'kubernetes.io/csi', usage: 'driver', ...notEphemeral, filesIn: 'mount' } as const;

/**
 * The kinds of volumes for which upstream's kubelet has a plugin (cmd/kubelet/app/plugins.go), by their field in the pod, with what all threads know of
 * them. workers/pod-sync/pod/volumes/plugins/ has the kinds that this kubelet mounts, and how.
 */
export const volumeKinds = {
  hostPath: { plugin: 'kubernetes.io/host-path', usage: 'none', ...notEphemeral },
  downwardAPI: { plugin: 'kubernetes.io/downward-api', usage: 'walk', ...notEphemeral },
  projected: { plugin: 'kubernetes.io/projected', usage: 'walk', ...notEphemeral },
  configMap: { plugin: 'kubernetes.io/configmap', usage: 'walk', ...notEphemeral, ephemeral: 'always' },
  secret: { plugin: 'kubernetes.io/secret', usage: 'walk', ...notEphemeral },
  image: { plugin: 'kubernetes.io/image', usage: 'none', ...notEphemeral },
  persistentVolumeClaim: ofDriver,
  ephemeral: ofDriver,
  csi: ofDriver,
  emptyDir: { plugin: 'kubernetes.io/empty-dir', usage: 'walk', ...notEphemeral, ephemeral: 'onDisk' },
  gitRepo: { plugin: 'kubernetes.io/git-repo', usage: 'none', ...notEphemeral, ephemeral: 'always' },
  nfs: { plugin: 'kubernetes.io/nfs', usage: 'mount', ...notEphemeral },
  iscsi: { plugin: 'kubernetes.io/iscsi', usage: 'mount', ...notEphemeral },
  fc: { plugin: 'kubernetes.io/fc', usage: 'none', ...notEphemeral },
} as const satisfies Partial<Record<Exclude<keyof Volume, 'name'>, VolumeKindFacts>>;

/** By the name of the kind's folder in a pod's `volumes/`. */
export const volumeKindsByFolder: ReadonlyMap<string, VolumeKindFacts> = new Map(
  Object.values(volumeKinds).map((facts) => [escapeQualifiedName(facts.plugin), facts]),
);

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
