/**
 * The end of a pod's volumes and of its folder. Everything follows from the UID and the mount table, so that it works for a pod of
 * which nothing else is known, and for what another kubelet had mounted.
 */
import { readdir, rmdir } from '../blocking-fs.ts';
import { join } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { escapeQualifiedName, podDir, podPluginDir, podSubpathsDir, podVolumesDir } from '../../../shared/kubernetes/paths.ts';
import { blockingCalls } from '../../../shared/linux/directory-calls.ts';
import { deepestFirst, isWithin, type MountInfo, readMountsBelow } from '../../../shared/linux/mountinfo.ts';
import { removeTree } from '../../../shared/linux/remove-tree.ts';
import { unmountAt } from '../../../shared/linux/unmount-at.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { HelperClient } from '../helper/helper-client.ts';
import { pluginNames } from '../../../shared/kubernetes/volume-kind.ts';

export interface TeardownContext {
  /** Without symlinks. */
  readonly rootDir: string;
  readonly podUID: string;
  readonly helper: HelperClient;
  readonly logger: Logger;
  readonly signal: AbortSignal | undefined;
}

/**
 * Resolves once the mount table, read after the last unmount, shows nothing of the pod. Subpaths first: they are bind mounts of what the
 * volumes mount. A mount that another one hides can be unmounted only after it: as long as a pass unmounts something, there is another pass.
 */
export async function unmountAll({ rootDir, podUID, helper, logger, signal }: TeardownContext): Promise<void> {
  const dir = podDir(rootDir, podUID);
  const subpaths = podSubpathsDir(rootDir, podUID);
  const isSubpath = ({ mountPoint }: MountInfo) => isWithin(mountPoint, subpaths);
  const failures = new Map<string, string>();
  let mounts = await readMountsBelow(dir);
  if (mounts.length > 0) logger.debug({ mounts: mounts.length }, 'unmounting volumes');
  for (let left = Infinity; mounts.length > 0;) {
    if (mounts.length >= left) throw new StillMountedError(`unmount volumes of pod ${podUID}`, mounts, [...failures.values()]);
    left = mounts.length;
    failures.clear();
    const ordered = deepestFirst(mounts);
    for (const { mountPoint, fsType } of [...ordered.filter(isSubpath), ...ordered.filter((mount) => !isSubpath(mount))]) {
      signal?.throwIfAborted();
      // What is in memory cannot hang, and is what most pods have. One that is busy or hangs must not keep the others mounted.
      const done = fsType === 'tmpfs' ? unmountAt(mountPoint) : helper.call('unmount', { target: mountPoint, force: false }, { signal });
      await done.catch((err: unknown) => failures.set(mountPoint, messageOf(err)));
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

/** Folders under `volumes/` whose content is this kubelet's to remove, and the plugin of each. */
const ownFolders = new Map(Object.values(pluginNames).map((plugin) => [escapeQualifiedName(plugin), plugin]));

/** One for each volume of this kubelet's that the pod's folder has, as far as it can be read. */
export async function pluginsOnDisk({ rootDir, podUID }: TeardownContext): Promise<string[]> {
  const volumes = podVolumesDir(rootDir, podUID);
  const plugins: string[] = [];
  for (const folder of await readdir(volumes).catch(() => [])) {
    const plugin = ownFolders.get(folder);
    if (plugin !== undefined) plugins.push(...(await readdir(join(volumes, folder)).catch(() => [])).map(() => plugin));
  }
  return plugins;
}

/**
 * What the volumes left on disk; the rest of the pod's folder stays, for who wants to look at it. Only right after the mount table has shown
 * that nothing is mounted there: a node's table is long, and is not read once more for it.
 */
export async function removeVolumeData(context: TeardownContext): Promise<void> {
  const { rootDir, podUID, signal } = context;
  const volumes = podVolumesDir(rootDir, podUID);
  for (const folder of await names(volumes)) {
    if (!ownFolders.has(folder)) continue;
    for (const volume of await names(join(volumes, folder))) await removeVolume(context, join(volumes, folder, volume));
    await removeTree(join(volumes, folder), { calls: blockingCalls, signal });
  }
  await removeTree(podSubpathsDir(rootDir, podUID), { calls: blockingCalls, signal });
  // Readiness files say that the volumes are set up, which is no longer so.
  await removeTree(podPluginDir(rootDir, podUID, pluginNames.emptyDir), { calls: blockingCalls, signal });
}

/** Ten minutes of the helper, some million files. The next try goes on where this one ended. */
const maxSlices = 120;

/** What containers wrote is the helper's to remove. Most volumes are empty by now: they were in memory. */
async function removeVolume({ helper, signal }: TeardownContext, path: string): Promise<void> {
  if (await removeEmpty(path)) return;
  for (let slices = 0; slices < maxSlices; slices += 1) {
    if ((await helper.call('removeTree', { path }, { signal })).removed) return;
  }
  throw new Error(`remove ${path}: not empty after ${maxSlices} attempts of some seconds, files may still be added`);
}

async function removeEmpty(path: string): Promise<boolean> {
  return rmdir(path).then(
    () => true,
    () => false,
  );
}

/** All of the pod's folder. */
export async function removePodFolder(context: TeardownContext): Promise<void> {
  const { rootDir, podUID, signal } = context;
  const dir = podDir(rootDir, podUID);
  const mounts = await readMountsBelow(dir);
  if (mounts.length > 0) throw new StillMountedError(`remove folder of pod ${podUID}`, mounts, []);
  await removeVolumeData(context);
  // What is left there is of volumes that are not this kubelet's: mount points may go, files may be data.
  await removeTree(podVolumesDir(rootDir, podUID), { calls: blockingCalls, foldersOnly: true, signal });
  await removeTree(dir, { calls: blockingCalls, signal });
}

async function names(dir: string): Promise<string[]> {
  return readdir(dir).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return [];
    throw err;
  });
}
