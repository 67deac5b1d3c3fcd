/**
 * Sets up volumes whose files the kubelet writes: downwardAPI, configMap, secret, projected. A repeated set-up updates all files atomically,
 * and writes nothing when they are up to date.
 */
import { lstat, mkdir, readFile } from '../blocking-fs.ts';
import { join } from 'node:path';
import { podVolumeDir } from '../../../../shared/kubernetes/paths.ts';
import { volumeKinds, type VolumeKindName, type VolumeSource } from '../../../../shared/kubernetes/volume-kind.ts';
import { LargeWorkError, maxLargeBytes } from '../large-work.ts';
import { dataLink, type Payload, validatePath, writeAtomically } from './atomic-writer.ts';
import { applyFSGroup, setUpEmptyDirAt } from './empty-dir.ts';
import { iterateWithYields } from './iterate-with-yields.ts';
import { mountedFilesystemAt } from './mounted-filesystem-at.ts';
import type { VolumePlace, VolumePlugin } from './plugins/volume-plugin.ts';
import { removeVolumeFolder } from './remove-volume-folder.ts';
import type { VolumeContext } from './volume-context.ts';

type WrittenKind = Extract<VolumeKindName, 'configMap' | 'downwardAPI' | 'projected' | 'secret'>;

export interface KubeletWritten<K extends WrittenKind> {
  readonly kind: K;
  /** Files that must not survive a power-off are in memory. */
  readonly medium: 'Memory' | '';
  /**
   * Rejects with LargeWorkError when the files are longer than the context's `maxBytes`.
   * @param readPublished reads a file that the volume contains now
   */
  readonly makePayload: (
    context: VolumeContext,
    volume: string,
    source: VolumeSource<K>,
    readPublished: (path: string) => Promise<string | undefined>,
  ) => Promise<Payload>;
}

/** Returns the plugin of a kind whose files the kubelet writes. Its volumes are read-only for containers, and each sync compares and updates them. */
export function kubeletWritten<K extends WrittenKind>(written: KubeletWritten<K>): VolumePlugin<VolumeSource<K>> {
  const { plugin } = volumeKinds[written.kind];
  const path = ({ rootDir, podUID, volume }: VolumePlace) => podVolumeDir(rootDir, podUID, plugin, volume);
  return {
    holdsFiles: true,
    isMount: () => written.medium === 'Memory',
    async mount(context, volume, source) {
      try {
        await setUp(context, volume, written, source);
      } catch (err) {
        if (!(err instanceof LargeWorkError)) throw err;
        await context.inTurn(() => setUp({ ...context, maxBytes: maxLargeBytes }, volume, written, source));
      }
      return true;
    },
    isUsable: (context, volume) => hasPublishedFiles(context, volume, written),
    path,
    // A missing subPath is not created as a folder: the file of an optional object may appear there later.
    containerMount: async (context) => ({
      hostPath: await context.bindSubPath(path(context), { create: false }),
      readonly: true,
      selinuxRelabel: true,
    }),
    teardown: { removeData: removeVolumeFolder },
  };
}

/** Rejects with an Error that names what the volume needs. The volume is then unchanged. */
async function setUp<K extends WrittenKind>(
  context: VolumeContext,
  volume: string,
  { kind, medium, makePayload }: KubeletWritten<K>,
  source: VolumeSource<K>,
): Promise<void> {
  const { pod, rootDir, nestedMountpoints } = context;
  const { plugin } = volumeKinds[kind];
  const payload = await makePayload(context, volume, source, (path) => readPublishedFile(context, volume, { kind, medium }, path));
  const path = podVolumeDir(rootDir, pod.metadata.uid, plugin, volume);
  await setUpEmptyDirAt(context, { path, readinessName: `wrapped_${volume}`, medium, applyFSGroup: false });
  for await (const folder of iterateWithYields(nestedMountpoints(volume)))
    await mkdir(join(path, folder), { recursive: true, mode: 0o755 });
  await writeAtomically(path, payload, () => applyFSGroup(context, path, { plugin, readOnly: true }));
}

type Published = Pick<KubeletWritten<WrittenKind>, 'kind' | 'medium'>;

/** Returns whether an earlier sync, or an earlier kubelet, has written the volume's files. */
async function hasPublishedFiles(context: VolumeContext, volume: string, { kind, medium }: Published): Promise<boolean> {
  const path = podVolumeDir(context.rootDir, context.pod.metadata.uid, volumeKinds[kind].plugin, volume);
  if (medium === 'Memory' && (await mountedFilesystemAt(path)) !== 'tmpfs') return false;
  const link = await lstat(join(path, dataLink)).catch(() => undefined);
  return link?.isSymbolicLink() ?? false;
}

/** A token has a few kilobytes. */
const maxTokenBytes = 64 * 1024;

/** Reads a file that an earlier sync, or an earlier kubelet, has written into the volume. Undefined when there is none. */
async function readPublishedFile(context: VolumeContext, volume: string, published: Published, path: string): Promise<string | undefined> {
  if (!(await hasPublishedFiles(context, volume, published))) return undefined;
  const dir = podVolumeDir(context.rootDir, context.pod.metadata.uid, volumeKinds[published.kind].plugin, volume);
  const content = await readFile(join(dir, dataLink, validatePath(path))).catch(() => undefined);
  return content && content.length <= maxTokenBytes ? content.toString('utf8') : undefined;
}
