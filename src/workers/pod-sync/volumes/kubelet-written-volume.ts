/**
 * Volumes whose files the kubelet writes: downwardAPI, configMap, secret, projected. Run again, it brings the files up to date, all at once;
 * what is as it should be is not touched.
 */
import { lstat, mkdir, readFile } from '../blocking-fs.ts';
import { join } from 'node:path';
import { podVolumeDir } from '../../../shared/kubernetes/paths.ts';
import { dataLink, type Payload, validatePath, writeAtomically } from './atomic-writer.ts';
import { requireSecretOrConfigMap } from './pod-object-results.ts';
import type { VolumeContext } from './volume-context.ts';
import { defaultFileMode, downwardAPIPayload } from './downward-api.ts';
import { applyFSGroup, setUpEmptyDirAt } from './empty-dir.ts';
import { mountedFilesystemAt } from './mounted-filesystem-at.ts';
import { iterateWithYields } from './iterate-with-yields.ts';
import { objectPayload } from './object-payload.ts';
import { projectedPayload } from './projected.ts';
import { pluginNames, type VolumeKind, type WrittenKind } from '../../../shared/kubernetes/volume-kind.ts';

export type KubeletWrittenVolume = Extract<VolumeKind, { readonly kind: WrittenKind }>;

/** What must not outlive the node's power is in memory; a ConfigMap is on disk, as upstream. */
function mediumOf(kind: WrittenKind): 'Memory' | '' {
  return kind === 'configMap' ? '' : 'Memory';
}

/** Rejects with an Error that says what the volume waits for; then the volume is as it was. */
export async function setUpKubeletWrittenVolume(context: VolumeContext, volume: string, source: KubeletWrittenVolume): Promise<void> {
  const { pod, rootDir, nestedMountpoints: nested } = context;
  const payload = await payloadOf(context, volume, source);
  const path = podVolumeDir(rootDir, pod.metadata.uid, pluginNames[source.kind], volume);
  await setUpEmptyDirAt(context, { path, readinessName: `wrapped_${volume}`, medium: mediumOf(source.kind), applyFSGroup: false });
  for await (const folder of iterateWithYields(nested(volume))) await mkdir(join(path, folder), { recursive: true, mode: 0o755 });
  await writeAtomically(path, payload, () => applyFSGroup(context, path, { plugin: pluginNames[source.kind], readOnly: true }));
}

/** Whether its files are there, from an earlier sync or an earlier kubelet. */
export async function hasPublishedFiles(context: VolumeContext, volume: string, kind: WrittenKind): Promise<boolean> {
  const path = podVolumeDir(context.rootDir, context.pod.metadata.uid, pluginNames[kind], volume);
  if (mediumOf(kind) === 'Memory' && (await mountedFilesystemAt(path)) !== 'tmpfs') return false;
  const link = await lstat(join(path, dataLink)).catch(() => undefined);
  return link?.isSymbolicLink() ?? false;
}

async function payloadOf(context: VolumeContext, volume: string, { kind, source }: KubeletWrittenVolume): Promise<Payload> {
  if (kind === 'downwardAPI') return downwardAPIPayload(source.items ?? [], context.pod, context.node.allocatable, source.defaultMode);
  if (kind === 'projected') return projectedPayload(context, volume, source, (path) => readHeld(context, volume, path));
  const { namespace } = context.pod.metadata;
  const { items, optional = false, defaultMode: mode = defaultFileMode } = source;
  const ref =
    kind === 'secret'
      ? ({ kind: 'Secret', namespace, name: source.secretName ?? '' } as const)
      : ({ kind: 'ConfigMap', namespace, name: source.name ?? '' } as const);
  const [result] = await context.requestPodObjects([ref]);
  return objectPayload(requireSecretOrConfigMap(ref.kind, result, optional, `${kind} volume ${volume}`), { items, mode, optional });
}

/** Tokens have some kilobytes. */
const maxTokenBytes = 64 * 1024;

/** A file that a projected volume holds, of whichever life of the kubelet. */
async function readHeld(context: VolumeContext, volume: string, path: string): Promise<string | undefined> {
  if (!(await hasPublishedFiles(context, volume, 'projected'))) return undefined;
  const dir = podVolumeDir(context.rootDir, context.pod.metadata.uid, pluginNames.projected, volume);
  const content = await readFile(join(dir, dataLink, validatePath(path))).catch(() => undefined);
  return content && content.length <= maxTokenBytes ? content.toString('utf8') : undefined;
}
