/**
 * The end of a pod's volumes and of its folder. Everything follows from the UID and the mount table, so that it works for a pod of
 * which nothing else is known, and for what another kubelet had mounted.
 */
import { lstat, readdir } from '../local-fs.ts';
import { join } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { escapeQualifiedName, podDir, podPluginDir, podSubpathsDir, podVolumesDir } from '../../../shared/kubernetes/paths.ts';
import { deepestFirst, isWithin, type MountInfo, readMountsBelow } from '../../../shared/linux/mountinfo.ts';
import { unmount, type SystemCallError } from '../../../shared/linux/native.ts';
import type { Logger } from '../../../shared/log/logger.ts';
import type { HelperClient } from '../helper-client.ts';
import { removeTree } from './remove-tree.ts';
import { pluginNames } from '../../../shared/kubernetes/volume-kind.ts';

export interface TeardownContext {
  /** Without symlinks. */
  readonly rootDir: string;
  readonly podUID: string;
  readonly helper: HelperClient;
  readonly logger: Logger;
  readonly signal: AbortSignal | undefined;
}

/** Subpaths first: they are bind mounts of what the volumes mount. Resolves once nothing of the pod is mounted any more. */
export async function unmountAll(context: TeardownContext): Promise<void> {
  const { rootDir, podUID, helper, logger, signal } = context;
  const dir = podDir(rootDir, podUID);
  const subpaths = podSubpathsDir(rootDir, podUID);
  const mounts = deepestFirst(await readMountsBelow(dir));
  const isSubpath = ({ mountPoint }: MountInfo) => isWithin(mountPoint, subpaths);
  const failures: string[] = [];
  for (const { mountPoint, fsType } of [...mounts.filter(isSubpath), ...mounts.filter((mount) => !isSubpath(mount))]) {
    signal?.throwIfAborted();
    // What is in memory cannot hang, and is what most pods have. One that is busy or hangs must not keep the others mounted.
    const done = fsType === 'tmpfs' ? unmountHere(mountPoint) : helper.call('unmount', { target: mountPoint, force: false }, { signal });
    await done.catch((err: unknown) => failures.push(messageOf(err)));
  }
  // Each line of the table was a mount, and each is unmounted: only where one was not, the table tells what is left.
  const left = failures.length === 0 ? [] : await readMountsBelow(dir);
  if (left.length > 0) {
    throw new Error(
      `unmount volumes of pod ${podUID}: ${left.map(({ mountPoint }) => mountPoint).join(', ')} still mounted: ${failures.join('; ')}`,
    );
  }
  if (mounts.length > 0) logger.debug({ mounts: mounts.length }, 'volumes unmounted');
}

/** EINVAL: nothing is mounted there; ENOENT: nor is there a place. */
async function unmountHere(target: string): Promise<void> {
  try {
    await unmount(target);
  } catch (err) {
    const { code } = err as SystemCallError;
    if (code !== 'EINVAL' && code !== 'ENOENT') throw err;
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
export async function removeVolumeData({ rootDir, podUID, signal }: TeardownContext): Promise<void> {
  const volumes = podVolumesDir(rootDir, podUID);
  for (const folder of await names(volumes)) {
    if (ownFolders.has(folder)) await removeTree(join(volumes, folder), { signal });
  }
  await removeTree(podSubpathsDir(rootDir, podUID), { signal });
  // Readiness files say that the volumes are set up, which is no longer so.
  await removeTree(podPluginDir(rootDir, podUID, pluginNames.emptyDir), { signal });
}

/** All of the pod's folder. */
export async function removePodFolder(context: TeardownContext): Promise<void> {
  const { rootDir, podUID, signal } = context;
  const dir = podDir(rootDir, podUID);
  const stats = await lstat(dir).catch(() => undefined);
  if (!stats) return;
  if (!stats.isDirectory()) throw new Error(`remove folder of pod ${podUID}: ${dir} is not a folder`);
  await requireNothingMounted(context);
  await removeVolumeData(context);
  // What is left there is of volumes that are not this kubelet's: mount points may go, files may be data.
  await removeTree(podVolumesDir(rootDir, podUID), { foldersOnly: true, signal });
  await removeTree(dir, { signal });
}

async function requireNothingMounted({ rootDir, podUID }: TeardownContext): Promise<void> {
  const mounts = await readMountsBelow(podDir(rootDir, podUID));
  if (mounts.length === 0) return;
  throw new Error(`remove folder of pod ${podUID}: ${mounts.map(({ mountPoint }) => mountPoint).join(', ')} still mounted`);
}

async function names(dir: string): Promise<string[]> {
  return readdir(dir).catch((err: NodeJS.ErrnoException) => {
    if (err.code === 'ENOENT') return [];
    throw err;
  });
}
