/**
 * Unmounts a pod's volumes and removes its folder. Needs only the UID and the mount table, so that it works for a pod whose spec is unknown
 * and for volumes that another kubelet has mounted.
 */
import { readdir } from '../blocking-fs.ts';
import { join } from 'node:path';
import { messageOf } from '../../../../shared/errors/kubelet-error.ts';
import { podDir, podSubpathsDir, podVolumesDir } from '../../../../shared/kubernetes/paths.ts';
import { blockingCalls } from '../../../../shared/linux/directory-calls.ts';
import { deepestFirst, isWithin, type MountInfo, readMountsBelow } from '../../../../shared/linux/mountinfo.ts';
import { removeTree } from '../../../../shared/linux/remove-tree.ts';
import { unmountAt } from '../../../../shared/linux/unmount-at.ts';
import { readinessDir } from './empty-dir.ts';
import { iterateWithYields } from './iterate-with-yields.ts';
import { pluginsByFolder } from './plugins/volume-plugins.ts';
import type { VolumeOnDisk, VolumeTeardown } from './plugins/volume-plugin.ts';
import type { TeardownContext } from './teardown-context.ts';

export interface VolumeToTearDown extends VolumeOnDisk {
  readonly pluginName: string;
  readonly teardown: VolumeTeardown;
}

/** Returns the volumes of this kubelet's kinds in the pod's folder. Unreadable folders are skipped. */
export async function volumesOnDisk({ rootDir, podUID }: TeardownContext): Promise<VolumeToTearDown[]> {
  const folder = podVolumesDir(rootDir, podUID);
  const volumes: VolumeToTearDown[] = [];
  for (const name of await readdir(folder).catch(() => [])) {
    const kind = pluginsByFolder.get(name);
    if (!kind) continue;
    for (const volume of await readdir(join(folder, name)).catch(() => []))
      volumes.push({ ...kind, rootDir, podUID, volume, path: join(folder, name, volume) });
  }
  return volumes;
}

/** Resolves when the mount table, read after the last unmount, has no mounts of the pod. */
export async function unmountAll(context: TeardownContext, volumes: readonly VolumeToTearDown[]): Promise<void> {
  const { rootDir, podUID } = context;
  const withOwnUnmount = volumes.filter(({ teardown }) => teardown.unmount);
  if (withOwnUnmount.length > 0) await unmountBelow(context, podSubpathsDir(rootDir, podUID));
  for (const volume of withOwnUnmount) await volume.teardown.unmount?.(context, volume);
  await unmountBelow(context, podDir(rootDir, podUID));
}

/**
 * Resolves when the mount table, read after the last unmount, has no mounts below the folder. Subpaths come first: they are bind mounts of folders
 * in the volumes. A mount that is hidden by another one can be unmounted only after it. So passes repeat as long as each one unmounts
 * something.
 */
async function unmountBelow({ rootDir, podUID, helper, logger, signal }: TeardownContext, dir: string): Promise<void> {
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
    for await (const { mountPoint, fsType } of iterateWithYields([
      ...ordered.filter(isSubpath),
      ...ordered.filter((mount) => !isSubpath(mount)),
    ])) {
      signal?.throwIfAborted();
      // `unmountAt` blocks this thread, the helper is a process that is given up at a deadline. A tmpfs cannot hang, and most pods have no other mounts. A
      // mount that is busy or hangs must not keep the others mounted.
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

/**
 * Removes the volumes' data on disk. The rest of the pod's folder stays for debugging. Must be called right after the mount table has shown
 * that nothing is mounted there: the table is long and is not read again.
 */
export async function removeVolumeData(context: TeardownContext): Promise<void> {
  const { rootDir, podUID, projectQuotas, signal } = context;
  const volumes = podVolumesDir(rootDir, podUID);
  await projectQuotas.release(volumes, signal);
  for (const folder of await names(volumes)) {
    const kind = pluginsByFolder.get(folder);
    if (!kind) continue;
    for await (const volume of iterateWithYields(await names(join(volumes, folder))))
      await kind.teardown.removeData(context, { rootDir, podUID, volume, path: join(volumes, folder, volume) });
    await removeTree(join(volumes, folder), { calls: blockingCalls, signal });
  }
  await removeTree(podSubpathsDir(rootDir, podUID), { calls: blockingCalls, signal });
  await removeTree(readinessDir(rootDir, podUID), { calls: blockingCalls, signal });
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
