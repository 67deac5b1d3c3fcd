/**
 * emptyDir: a folder of the pod's own, on the node's disk, in memory or in huge pages (upstream pkg/volume/emptydir). The volumes whose
 * files the kubelet writes are an emptyDir in memory too: their content is gone with the node.
 */
import { access, chmod, mkdir, rm, stat, writeFile } from '../blocking-fs.ts';
import { dirname, join } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { podPluginDir, podVolumeDir } from '../../../shared/kubernetes/paths.ts';
import { readMountsBelow } from '../../../shared/linux/mountinfo.ts';
import { mount } from '../../../shared/linux/native.ts';
import { supportsNoswap } from '../../../shared/linux/noswap.ts';
import { memorySizeBytes, mountedPageSizeMatches, pageSizeOption } from './empty-dir-size.ts';
import type { VolumeContext } from './volume-context.ts';
import { mountedFilesystemAt } from './mounted-filesystem-at.ts';
import { startStorageOperationTimer } from './storage-operation-timer.ts';
import { pluginNames } from '../../../shared/kubernetes/volume-kind.ts';

export interface EmptyDir {
  readonly path: string;
  /** Of its readiness file: the volume's, or `wrapped_<volume>`. */
  readonly readinessName: string;
  readonly medium: string;
  readonly sizeLimit?: string;
  /** False for volumes whose files are still to be written: their group is set then. */
  readonly applyFSGroup: boolean;
}

/** Everybody may write: containers run as who knows whom. */
const mode = 0o777;

export async function setUpEmptyDir(
  context: VolumeContext,
  volume: string,
  source: { readonly medium?: string; readonly sizeLimit?: string },
): Promise<boolean> {
  const path = podVolumeDir(context.rootDir, context.pod.metadata.uid, pluginNames.emptyDir, volume);
  return setUpEmptyDirAt(context, { path, readinessName: volume, medium: source.medium ?? '', applyFSGroup: true, ...source });
}

/** Answers false when there was nothing to do: one that is ready stays as it is, what is in it is the pod's. */
export async function setUpEmptyDirAt(context: VolumeContext, dir: EmptyDir): Promise<boolean> {
  const readyFile = join(podPluginDir(context.rootDir, context.pod.metadata.uid, pluginNames.emptyDir), dir.readinessName, 'ready');
  if ((await exists(readyFile)) && (await isInPlace(dir))) return false;
  await rm(readyFile, { force: true });
  await setUpMedium(context, dir);
  if (dir.applyFSGroup) await applyFSGroup(context, dir.path, { plugin: pluginNames.emptyDir, readOnly: false });
  await mkdir(dirname(readyFile), { recursive: true, mode: 0o750 });
  await writeFile(readyFile, '');
  return true;
}

async function isInPlace({ path, medium }: EmptyDir): Promise<boolean> {
  if (medium === '') return exists(path);
  return (await mountedFilesystemAt(path)) === (medium === 'Memory' ? 'tmpfs' : 'hugetlbfs');
}

async function setUpMedium(context: VolumeContext, dir: EmptyDir): Promise<void> {
  const { path, medium, sizeLimit } = dir;
  const { pod, node, helper, signal, podLevelResources } = context;
  if (medium === 'Memory') {
    await makeFolder(path);
    const sizeBytes = memorySizeBytes(pod, node.allocatable.memoryBytes, sizeLimit, podLevelResources);
    const options = [...(sizeBytes > 0 ? [`size=${sizeBytes}`] : []), ...((await supportsNoswap()) ? ['noswap'] : [])].join(',');
    // Not the helper's: memory at a place on the node's own disk does not hang, and almost every pod has such a volume.
    if ((await mountedFilesystemAt(path)) !== 'tmpfs') await mount('tmpfs', path, 'tmpfs', 0, options);
    await openToAll(path);
  } else if (medium === 'HugePages' || medium.startsWith('HugePages-')) {
    if ((await mountedFilesystemAt(path)) === 'hugetlbfs') {
      const mounted = (await readMountsBelow(path)).findLast(({ mountPoint }) => mountPoint === path);
      if (mountedPageSizeMatches(medium, mounted?.superOptions ?? [])) return;
      throw new Error(`pod ${pod.metadata.uid}: mounted dir ${path} has another page size than the requested medium ${medium}`);
    }
    const options = pageSizeOption(medium, pod, podLevelResources);
    await makeFolder(path);
    await helper.call('mountFilesystem', { target: path, fsType: 'hugetlbfs', source: 'nodev', options }, { signal });
    await chmod(path, mode);
  } else if (medium === '') {
    await makeFolder(path);
  } else {
    throw new Error(`unknown storage medium "${medium}"`);
  }
}

/** The mode is set afterwards, because the process's umask takes from it. */
async function makeFolder(path: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o755 });
  await mkdir(path, { recursive: true });
  await openToAll(path);
}

/** The bits beyond the permissions stay: the root of a tmpfs is sticky, and so is a subPath's folder in it (upstream setupDir). */
async function openToAll(path: string): Promise<void> {
  if (((await stat(path)).mode & 0o777) !== mode) await chmod(path, mode);
}

/** fsGroup. What could not be changed is logged, as upstream: the pod starts. */
export async function applyFSGroup(
  { pod, helper, logger, signal }: VolumeContext,
  path: string,
  { plugin, readOnly }: { readonly plugin: string; readonly readOnly: boolean },
): Promise<void> {
  const fsGroup = pod.spec.securityContext?.fsGroup;
  if (fsGroup === undefined) return;
  const ended = startStorageOperationTimer('volume_apply_access_control');
  try {
    const request = { path, fsGroup, readOnly, onlyOnRootMismatch: false };
    const { failures, firstFailure } = await helper.call('changeOwnership', request, { deadlineMs: ownershipDeadlineMs, signal });
    ended(plugin, true);
    if (failures > 0) logger.warn({ path, fsGroup, failures, err: firstFailure }, 'fsGroup not set on every file');
  } catch (err) {
    ended(plugin, false);
    signal?.throwIfAborted();
    logger.warn({ path, fsGroup, err: messageOf(err) }, 'fsGroup not set');
  }
}

/** A tree of a million files takes a minute. */
const ownershipDeadlineMs = 10 * 60_000;

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
