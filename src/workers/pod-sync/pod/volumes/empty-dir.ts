/**
 * Sets up the folder of an emptyDir, on the node's disk, in memory or in huge pages (upstream pkg/volume/emptydir). Volumes whose files the kubelet writes
 * (kubelet-written-volume.ts) also get their folder here.
 */
import { access, mkdir, rm, writeFile } from '../blocking-fs.ts';
import { dirname, join } from 'node:path';
import { changeOwnership } from '../../../../shared/helper-client/index.ts';
import { messageOf } from '../../../../shared/errors/kubelet-error.ts';
import { podPluginDir } from '../../../../shared/kubernetes/paths.ts';
import { readMountsBelow } from '../../../../shared/linux/mountinfo.ts';
import { mount, MountFlag } from '../../../../shared/linux/native.ts';
import { supportsNoswap } from '../../../../shared/linux/noswap.ts';
import { computeMemorySizeBytes, mountedPageSizeMatches, pageSizeOption } from './empty-dir-size.ts';
import { changeFolderMode } from './file-by-handle.ts';
import type { VolumeContext } from './volume-context.ts';
import { mountedFilesystemAt } from './mounted-filesystem-at.ts';
import { startStorageOperationTimer } from '../../../../shared/metrics/storage-operation-timer.ts';
import { volumeKinds } from '../../../../shared/kubernetes/volume-kind.ts';

export interface EmptyDir {
  readonly path: string;
  /** The name of its readiness file's folder: the volume's name, or `wrapped_<volume>` for kubelet-written volumes. */
  readonly readinessName: string;
  readonly medium: string;
  readonly sizeLimit?: string;
  /** The mode of the folder. Default: `defaultMode`. */
  readonly mode?: number | undefined;
  /** False for kubelet-written volumes, which apply the fsGroup after their files are written. */
  readonly applyFSGroup: boolean;
}

/** World-writable, since containers may run as any user. */
const defaultMode = 0o777;
/** The permission bits and the sticky bit (upstream unixModeToFileMode). */
const modeBits = 0o1777;

/** Returns the folder with the readiness files of a pod's volumes: one file for each volume that is set up, in a folder of its own, as upstream's. */
export function readinessDir(rootDir: string, podUID: string): string {
  return podPluginDir(rootDir, podUID, volumeKinds.emptyDir.plugin);
}

/** Returns false when the volume was ready already. The content of a ready volume belongs to the pod and is never changed. */
export async function setUpEmptyDirAt(context: VolumeContext, dir: EmptyDir): Promise<boolean> {
  const readyFile = join(readinessDir(context.rootDir, context.pod.metadata.uid), dir.readinessName, 'ready');
  if ((await exists(readyFile)) && (await isPresent(dir))) return false;
  await rm(readyFile, { force: true });
  await setUpMedium(context, dir);
  await setMode(dir);
  if (dir.medium === '') await context.projectQuotas.assign(context.pod, dir.path, context.signal);
  if (dir.applyFSGroup) await applyFSGroup(context, dir.path, { plugin: volumeKinds.emptyDir.plugin, readOnly: false });
  await mkdir(dirname(readyFile), { recursive: true, mode: 0o750 });
  await writeFile(readyFile, '');
  return true;
}

/** Returns whether the folder exists, or for memory and huge pages whether the right filesystem is mounted. */
async function isPresent({ path, medium }: EmptyDir): Promise<boolean> {
  if (medium === '') return exists(path);
  return (await mountedFilesystemAt(path)) === (medium === 'Memory' ? 'tmpfs' : 'hugetlbfs');
}

async function setUpMedium(context: VolumeContext, dir: EmptyDir): Promise<void> {
  const { path, medium, sizeLimit } = dir;
  const { pod, node, helper, signal, podLevelResources } = context;
  if (medium === 'Memory') {
    await makeFolder(path);
    const sizeBytes = computeMemorySizeBytes(pod, node.allocatable.memoryBytes, sizeLimit, podLevelResources);
    const options = [...(sizeBytes > 0 ? [`size=${sizeBytes}`] : []), ...(supportsNoswap() ? ['noswap'] : [])].join(',');
    // Does not need the helper: a tmpfs on the node's own disk cannot hang, and almost every pod has such a volume.
    if ((await mountedFilesystemAt(path)) !== 'tmpfs') await mount('tmpfs', path, 'tmpfs', 0, options);
  } else if (medium === 'HugePages' || medium.startsWith('HugePages-')) {
    if ((await mountedFilesystemAt(path)) === 'hugetlbfs') {
      const mounted = (await readMountsBelow(path)).findLast(({ mountPoint }) => mountPoint === path);
      if (mountedPageSizeMatches(medium, mounted?.superOptions ?? [])) return;
      throw new Error(`pod ${pod.metadata.uid}: mounted dir ${path} has another page size than the requested medium ${medium}`);
    }
    const options = pageSizeOption(medium, pod, podLevelResources);
    await makeFolder(path);
    await helper.call('mountFilesystem', { target: path, fsType: 'hugetlbfs', source: 'nodev', options }, { signal });
  } else if (medium === '') {
    await makeFolder(path);
  } else {
    throw new Error(`unknown storage medium "${medium}"`);
  }
}

/** Changes the size of a tmpfs (upstream ResizeEphemeralVolume in pkg/volume/emptydir). Rejects with EINVAL when its files take more. */
export async function resizeMemoryDir({ path, sizeBytes }: { readonly path: string; readonly sizeBytes: number }): Promise<void> {
  if ((await mountedFilesystemAt(path)) !== 'tmpfs') throw new Error(`${path} is no volume in memory`);
  await mount('tmpfs', path, 'tmpfs', MountFlag.remount, `size=${sizeBytes}`);
}

async function makeFolder(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  await mkdir(path, { recursive: true });
}

/**
 * Sets the mode of the volume's root, which is the root of the mounted filesystem for memory and huge pages. Without `mode`, a root that is world-writable
 * stays unchanged: a tmpfs keeps its sticky bit, which a subPath's folder inherits (upstream setupDir).
 */
async function setMode({ path, mode }: EmptyDir): Promise<void> {
  await changeFolderMode(path, (current) => {
    if (mode !== undefined) return mode & modeBits;
    return (current & 0o777) === defaultMode ? current : defaultMode;
  });
}

/** Gives the volume to the pod's fsGroup. Failures are only logged, as upstream: the pod still starts. */
export async function applyFSGroup(
  { pod, helper, logger, signal }: VolumeContext,
  path: string,
  { plugin, readOnly }: { readonly plugin: string; readonly readOnly: boolean },
): Promise<void> {
  const fsGroup = pod.spec.securityContext?.fsGroup;
  if (fsGroup === undefined) return;
  const stopTimer = startStorageOperationTimer('volume_apply_access_control');
  try {
    const request = { path, fsGroup, readOnly, onlyOnRootMismatch: false };
    const { failures, firstFailure, unreadable } = await changeOwnership(helper, request, { signal });
    stopTimer(plugin, true);
    const problem = unreadable ?? firstFailure;
    if (problem !== null) logger.warn({ path, fsGroup, failures, err: problem }, 'fsGroup not set on every file');
  } catch (err) {
    stopTimer(plugin, false);
    signal?.throwIfAborted();
    logger.warn({ path, fsGroup, err: messageOf(err) }, 'fsGroup not set');
  }
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
