/**
 * Unmounts a pod's volumes and removes its folder. Needs only the UID and the mount table, so that it works for a pod whose spec is unknown
 * and for volumes that another kubelet has mounted.
 */
import { readdir, rmdir } from '../blocking-fs.ts';
import { join } from 'node:path';
import { messageOf } from '../../../../shared/errors/kubelet-error.ts';
import { escapeQualifiedName, podDir, podPluginDir, podSubpathsDir, podVolumesDir } from '../../../../shared/kubernetes/paths.ts';
import { blockingCalls } from '../../../../shared/linux/directory-calls.ts';
import { deepestFirst, isWithin, type MountInfo, readMountsBelow } from '../../../../shared/linux/mountinfo.ts';
import { removeTree } from '../../../../shared/linux/remove-tree.ts';
import { unmountAt } from '../../../../shared/linux/unmount-at.ts';
import type { Logger } from '../../../../shared/log/logger.ts';
import type { ProjectQuotas } from './project-quota/index.ts';
import type { HelperClient } from '../../../../shared/helper-client/index.ts';
import { pluginNames } from '../../../../shared/kubernetes/volume-kind.ts';

export interface TeardownContext {
  /** Without symlinks. */
  readonly rootDir: string;
  readonly podUID: string;
  readonly helper: HelperClient;
  readonly projectQuotas: ProjectQuotas;
  readonly logger: Logger;
  readonly signal: AbortSignal | undefined;
}

/**
 * Resolves when the mount table, read after the last unmount, has no mounts of the pod. Subpaths come first: they are bind mounts of folders
 * in the volumes. A mount that is hidden by another one can be unmounted only after it. So passes repeat as long as each one unmounts
 * something.
 */
export async function unmountAll({ rootDir, podUID, helper, logger, signal }: TeardownContext): Promise<void> {
  const dir = podDir(rootDir, podUID);
  const subpaths = podSubpathsDir(rootDir, podUID);
  const isSubpath = ({ mountPoint }: MountInfo) => isWithin(mountPoint, subpaths);
  const failures = new Map<string, string>();
  let mounts = await readMountsBelow(dir);
  if (mounts.length > 0) logger.debug({ mounts: mounts.length }, 'unmounting volumes');
  for (let mountsBefore = Infinity; mounts.length > 0;) {
    if (mounts.length >= mountsBefore) throw new StillMountedError(`unmount volumes of pod ${podUID}`, mounts, [...failures.values()]);
    mountsBefore = mounts.length;
    failures.clear();
    const ordered = deepestFirst(mounts);
    for (const { mountPoint, fsType } of [...ordered.filter(isSubpath), ...ordered.filter((mount) => !isSubpath(mount))]) {
      signal?.throwIfAborted();
      // A tmpfs cannot hang, and most pods have no other mounts. A mount that is busy or hangs must not keep the others mounted.
      const unmounted =
        fsType === 'tmpfs' ? unmountAt(mountPoint) : helper.call('unmount', { target: mountPoint, force: false }, { signal });
      await unmounted.catch((err: unknown) => failures.set(mountPoint, messageOf(err)));
    }
    mounts = await readMountsBelow(dir);
  }
}

class StillMountedError extends Error {
  constructor(task: string, mounts: readonly MountInfo[], failures: readonly string[]) {
    const places = mounts.map(({ mountPoint }) => mountPoint).join(', ');
    super([`${task}: ${places} still mounted`, ...(failures.length > 0 ? [failures.join('; ')] : [])].join(': '));
  }
}

/** The folders under `volumes/` whose content this kubelet may remove, with their plugins. */
const pluginByFolder = new Map(Object.values(pluginNames).map((plugin) => [escapeQualifiedName(plugin), plugin]));

/** Returns one plugin name for each of this kubelet's volumes in the pod's folder. Unreadable folders are skipped. */
export async function pluginsOnDisk({ rootDir, podUID }: TeardownContext): Promise<string[]> {
  const volumes = podVolumesDir(rootDir, podUID);
  const plugins: string[] = [];
  for (const folder of await readdir(volumes).catch(() => [])) {
    const plugin = pluginByFolder.get(folder);
    if (plugin !== undefined) plugins.push(...(await readdir(join(volumes, folder)).catch(() => [])).map(() => plugin));
  }
  return plugins;
}

/**
 * Removes the volumes' data on disk. The rest of the pod's folder stays for debugging. Must be called right after the mount table has shown
 * that nothing is mounted there: the table is long and is not read again.
 */
export async function removeVolumeData(context: TeardownContext): Promise<void> {
  const { rootDir, podUID, projectQuotas, signal } = context;
  const volumes = podVolumesDir(rootDir, podUID);
  await projectQuotas.release(volumes, signal);
  for (const folder of await names(volumes)) {
    if (!pluginByFolder.has(folder)) continue;
    for (const volume of await names(join(volumes, folder))) await removeVolume(context, join(volumes, folder, volume));
    await removeTree(join(volumes, folder), { calls: blockingCalls, signal });
  }
  await removeTree(podSubpathsDir(rootDir, podUID), { calls: blockingCalls, signal });
  // The readiness files mark volumes as set up.
  await removeTree(podPluginDir(rootDir, podUID, pluginNames.emptyDir), { calls: blockingCalls, signal });
}

/** Ten minutes of the helper: some million files. The next attempt continues from there. */
const maxSlices = 120;

/** The helper removes what containers have written. Most volumes are empty by now, because they were in memory. */
async function removeVolume({ helper, signal }: TeardownContext, path: string): Promise<void> {
  if (await removeIfEmpty(path)) return;
  for (let slices = 0; slices < maxSlices; slices += 1) {
    if ((await helper.call('removeTree', { path }, { signal })).removed) return;
  }
  throw new Error(`remove ${path}: not empty after ${maxSlices} attempts of some seconds, files may still be added`);
}

async function removeIfEmpty(path: string): Promise<boolean> {
  return rmdir(path).then(
    () => true,
    () => false,
  );
}

/** Removes the pod's folder. Rejects while anything is mounted below it. */
export async function removePodFolder(context: TeardownContext): Promise<void> {
  const { rootDir, podUID, signal } = context;
  const dir = podDir(rootDir, podUID);
  const mounts = await readMountsBelow(dir);
  if (mounts.length > 0) throw new StillMountedError(`remove folder of pod ${podUID}`, mounts, []);
  await removeVolumeData(context);
  // What is left belongs to volumes that this kubelet does not manage: folders may be mount points, but files may be data.
  await removeTree(podVolumesDir(rootDir, podUID), { calls: blockingCalls, foldersOnly: true, signal });
  await removeTree(dir, { calls: blockingCalls, signal });
}

async function names(dir: string): Promise<string[]> {
  return readdir(dir).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return [];
    throw err;
  });
}
