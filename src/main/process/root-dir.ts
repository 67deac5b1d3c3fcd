/** The kubelet's folders below its root directory, with upstream's permissions (pkg/kubelet/kubelet.go, setupDataDirs). */
import { mkdir, readFile, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf } from '../../shared/errors/kubelet-error.ts';
import { containerLogsDir } from '../../shared/kubernetes/paths.ts';
import { isWithin, parseMountInfo } from '../../shared/linux/mountinfo.ts';
import { mount, MountFlag, unmount } from '../../shared/linux/native.ts';
import type { Logger } from '../../shared/log/logger.ts';

export interface RootDirOptions {
  /** Absolute. */
  readonly rootDir: string;
  readonly podLogsDir: string;
  /** Whether containers may be checkpointed: the archives have a separate folder. */
  readonly checkpoints: boolean;
  readonly logger: Logger;
}

export interface RootDir {
  /** Why the folder is not on a shared mount, in upstream's words. Null: it is. */
  readonly problem: string | null;
  /** Undoes the bind mount, unless volumes of running pods use it. */
  release(): Promise<void>;
}

const dirMode = 0o750;
/** The archives contain the memory of containers. */
const checkpointsMode = 0o700;
const containerLogsMode = 0o755;

/** Creates every missing folder; existing folders keep their permissions. Rejects with the folder's name. */
export async function ensureRootDir({ rootDir, podLogsDir, checkpoints, logger }: RootDirOptions): Promise<RootDir> {
  if (rootDir === '') throw new Error('invalid root directory ""');
  await ensureFolder(rootDir, dirMode);
  await ensureFolder(podLogsDir, dirMode);
  const { mounted, problem } = await ensureShared(rootDir, logger);
  for (const name of ['pods', 'plugins', 'plugins_registry', 'pod-resources']) await ensureFolder(join(rootDir, name), dirMode);
  if (checkpoints) await ensureFolder(join(rootDir, 'checkpoints'), checkpointsMode);
  // Only log collectors need this folder, so a kubelet without root permissions continues.
  await ensureFolder(containerLogsDir, containerLogsMode).catch((err: unknown) =>
    logger.warn({ err }, 'Container logs will have no links'),
  );
  return {
    problem,
    release: async () => {
      if (mounted) await unmount(rootDir).catch((err: unknown) => logger.debug({ err }, 'The root folder stays mounted: it is in use'));
    },
  };
}

async function ensureFolder(path: string, mode: number): Promise<void> {
  try {
    await createWithParents(path, mode);
    if (!(await stat(path)).isDirectory()) throw new Error('it is no folder');
  } catch (err) {
    throw new Error(`error creating directory "${path}": ${messageOf(err)}`, { cause: err });
  }
}

/** Node's `recursive` option never ends where a file system refuses with ENOENT below an existing folder, as /proc does. */
async function createWithParents(path: string, mode: number): Promise<void> {
  const createOne = () =>
    mkdir(path, { mode }).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'EEXIST') throw err;
    });
  try {
    await createOne();
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw err;
    await createWithParents(dirname(path), mode);
    await createOne();
  }
}

/**
 * Mount propagation from containers needs a shared mount. systemd makes every mount shared; elsewhere the folder is bind-mounted onto
 * itself. `mounted`: this function mounted it. Without permission to mount, pods run without propagation, and the node is not ready.
 */
async function ensureShared(rootDir: string, logger: Logger): Promise<{ mounted: boolean; problem: string | null }> {
  if (isShared(await readFile('/proc/self/mountinfo', 'utf8'), rootDir)) return { mounted: false, problem: null };
  const failed = (what: string, err: unknown) => {
    logger.error({ err, path: rootDir }, 'Could not make the root folder a shared mount: mounts of containers will not propagate');
    return { mounted: false, problem: `error configuring root directory: failed to ${what}: ${messageOf(err)}` };
  };
  try {
    await mount(rootDir, rootDir, '', MountFlag.bind | MountFlag.recursive, '');
  } catch (err) {
    return failed(`bind-mount ${rootDir}`, err);
  }
  try {
    await mount('', rootDir, '', MountFlag.shared | MountFlag.recursive, '');
    return { mounted: true, problem: null };
  } catch (err) {
    await unmount(rootDir).catch(() => {});
    return failed(`make ${rootDir} rshared`, err);
  }
}

/** Whether the mount that contains the path is shared: the last mount at the deepest mount point above the path. */
export function isShared(mountInfo: string, path: string): boolean {
  let deepest = { length: -1, shared: false };
  for (const line of mountInfo.split('\n')) {
    const [mounted] = parseMountInfo(line);
    if (!mounted || !isWithin(path, mounted.mountPoint) || mounted.mountPoint.length < deepest.length) continue;
    const [fixed = ''] = line.split(' - ', 1);
    deepest = { length: mounted.mountPoint.length, shared: fixed.split(' ').some((field) => field.startsWith('shared:')) };
  }
  return deepest.shared;
}
