/**
 * Sets up volumes whose files the kubelet writes: downwardAPI, configMap, secret, projected. A repeated set-up updates all files atomically,
 * and writes nothing when they are up to date.
 */
import { lstat, mkdir, readFile } from '../blocking-fs.ts';
import { join } from 'node:path';
import { podVolumeDir } from '../../../../shared/kubernetes/paths.ts';
import { dataLink, type Payload, validatePath, writeAtomically } from './atomic-writer.ts';
import { requireSecretOrConfigMap } from './pod-object-results.ts';
import type { VolumeContext } from './volume-context.ts';
import { defaultFileMode, makeDownwardAPIPayload } from './plugins/downward-api.ts';
import { applyFSGroup, setUpEmptyDirAt } from './empty-dir.ts';
import { mountedFilesystemAt } from './mounted-filesystem-at.ts';
import { iterateWithYields } from './iterate-with-yields.ts';
import { makeObjectPayload } from './object-payload.ts';
import { makeProjectedPayload } from './plugins/projected.ts';
import { pluginNames, type VolumeKind, type WrittenKind } from '../../../../shared/kubernetes/volume-kind.ts';

export type KubeletWrittenVolume = Extract<VolumeKind, { readonly kind: WrittenKind }>;

/** Files that must not survive a power-off are in memory. A ConfigMap is on disk, as upstream. */
function mediumOf(kind: WrittenKind): 'Memory' | '' {
  return kind === 'configMap' ? '' : 'Memory';
}

/** Rejects with an Error that names what the volume needs. The volume is then unchanged. */
export async function setUpKubeletWrittenVolume(context: VolumeContext, volume: string, source: KubeletWrittenVolume): Promise<void> {
  const { pod, rootDir, nestedMountpoints } = context;
  const payload = await makePayload(context, volume, source);
  const path = podVolumeDir(rootDir, pod.metadata.uid, pluginNames[source.kind], volume);
  await setUpEmptyDirAt(context, { path, readinessName: `wrapped_${volume}`, medium: mediumOf(source.kind), applyFSGroup: false });
  for await (const folder of iterateWithYields(nestedMountpoints(volume)))
    await mkdir(join(path, folder), { recursive: true, mode: 0o755 });
  await writeAtomically(path, payload, () => applyFSGroup(context, path, { plugin: pluginNames[source.kind], readOnly: true }));
}

/** Returns whether an earlier sync, or an earlier kubelet, has written the volume's files. */
export async function hasPublishedFiles(context: VolumeContext, volume: string, kind: WrittenKind): Promise<boolean> {
  const path = podVolumeDir(context.rootDir, context.pod.metadata.uid, pluginNames[kind], volume);
  if (mediumOf(kind) === 'Memory' && (await mountedFilesystemAt(path)) !== 'tmpfs') return false;
  const link = await lstat(join(path, dataLink)).catch(() => undefined);
  return link?.isSymbolicLink() ?? false;
}

async function makePayload(context: VolumeContext, volume: string, { kind, source }: KubeletWrittenVolume): Promise<Payload> {
  if (kind === 'downwardAPI') return makeDownwardAPIPayload(context, source.items ?? [], source);
  if (kind === 'projected') return makeProjectedPayload(context, volume, source, (path) => readPublishedFile(context, volume, path));
  const { namespace } = context.pod.metadata;
  const { items, optional = false, defaultMode: mode = defaultFileMode, defaultUser } = source;
  const { resolveFileUser } = context;
  const ref =
    kind === 'secret'
      ? ({ kind: 'Secret', namespace, name: source.secretName ?? '' } as const)
      : ({ kind: 'ConfigMap', namespace, name: source.name ?? '' } as const);
  const [result] = await context.requestPodObjects([ref], context.maxBytes);
  return makeObjectPayload(requireSecretOrConfigMap(ref.kind, result, optional, `${kind} volume ${volume}`), {
    items,
    mode,
    optional,
    defaultUser,
    resolveFileUser,
    maxBytes: context.maxBytes,
  });
}

/** A token has a few kilobytes. */
const maxTokenBytes = 64 * 1024;

/** Reads a file of a projected volume that this kubelet, or an earlier one, has written. Undefined when there is none. */
async function readPublishedFile(context: VolumeContext, volume: string, path: string): Promise<string | undefined> {
  if (!(await hasPublishedFiles(context, volume, 'projected'))) return undefined;
  const dir = podVolumeDir(context.rootDir, context.pod.metadata.uid, pluginNames.projected, volume);
  const content = await readFile(join(dir, dataLink, validatePath(path))).catch(() => undefined);
  return content && content.length <= maxTokenBytes ? content.toString('utf8') : undefined;
}
