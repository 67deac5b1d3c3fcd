/** The kinds of volumes that this kubelet mounts, one row each. A new kind has a file beside this one, and a row here. */
import type { Volume } from '../../../../../shared/kubernetes/api.ts';
import { escapeQualifiedName } from '../../../../../shared/kubernetes/paths.ts';
import {
  unsupportedVolume,
  volumeKind,
  volumeKinds,
  type VolumeKindName,
  type VolumeSource,
} from '../../../../../shared/kubernetes/volume-kind.ts';
import { configMap } from './config-map.ts';
import { downwardAPI } from './downward-api.ts';
import { emptyDir } from './empty-dir.ts';
import { hostPath } from './host-path.ts';
import { image } from './image.ts';
import { projected } from './projected.ts';
import { localVolumeTeardown, published } from './published.ts';
import { secret } from './secret.ts';
import type { VolumePlugin, VolumeTeardown } from './volume-plugin.ts';

const volumePlugins: { readonly [K in VolumeKindName]?: VolumePlugin<VolumeSource<K>> } = {
  hostPath,
  downwardAPI,
  projected,
  configMap,
  secret,
  image,
  persistentVolumeClaim: published,
  ephemeral: published,
  csi: published,
  emptyDir,
};

export interface PodVolume {
  /** For metrics. */
  readonly pluginName: string;
  readonly plugin: VolumePlugin<unknown>;
  readonly source: unknown;
}

/** Throws an Error with the reason when this kubelet does not support the volume. */
export function findPlugin(volume: Volume): PodVolume {
  const { kind, source } = volumeKind(volume);
  const plugin = volumePlugins[kind];
  if (!plugin) throw unsupportedVolume(volume, kind);
  return { pluginName: volumeKinds[kind].plugin, plugin, source };
}

interface PluginFolder {
  readonly pluginName: string;
  readonly teardown: VolumeTeardown;
}

/** The kinds with folders in `volumes/`, by the name of the folder. */
export const pluginsByFolder: ReadonlyMap<string, PluginFolder> = new Map<string, PluginFolder>([
  ...(Object.keys(volumePlugins) as VolumeKindName[]).flatMap((kind) => {
    const teardown = volumePlugins[kind]?.teardown;
    const { plugin: pluginName } = volumeKinds[kind];
    return teardown ? ([[escapeQualifiedName(pluginName), { pluginName, teardown }]] as const) : [];
  }),
  // A claim's volume may be of this plugin.
  [escapeQualifiedName('kubernetes.io/local-volume'), { pluginName: 'kubernetes.io/local-volume', teardown: localVolumeTeardown }],
]);
