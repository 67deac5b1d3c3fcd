/** The folders that a kubelet has below its root, with upstream's permissions (pkg/kubelet/kubelet.go, setupDataDirs). */
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
  /** Whether containers may be checkpointed: the archives have a folder of their own. */
  readonly checkpoints: boolean;
  readonly logger: Logger;
}

export interface RootDir {
  /** Takes back the mount that was made, unless volumes of running pods stand on it. */
  release(): Promise<void>;
}

const dirMode = 0o750;
/** Archives hold the memory of containers. */
const checkpointsMode = 0o700;
const containerLogsMode = 0o755;

/** Makes every folder that is missing; those that are there stay as they are. Throws with the folder's name. */
export async function ensureRootDir({ rootDir, podLogsDir, checkpoints, logger }: RootDirOptions): Promise<RootDir> {
  if (rootDir === '') throw new Error('invalid root directory ""');
  await make(rootDir, dirMode);
  await make(podLogsDir, dirMode);
  const shared = await makeShared(rootDir, logger);
  for (const name of ['pods', 'plugins', 'plugins_registry', 'pod-resources']) await make(join(rootDir, name), dirMode);
  if (checkpoints) await make(join(rootDir, 'checkpoints'), checkpointsMode);
  // Log collectors go without, pods do not: a kubelet that is not root runs on.
  await make(containerLogsDir, containerLogsMode).catch((err: unknown) => logger.warn({ err }, 'Container logs will have no links'));
  return {
    release: async () => {
      if (shared) await unmount(rootDir).catch((err: unknown) => logger.debug({ err }, 'The root folder stays mounted: it is in use'));
    },
  };
}

async function make(path: string, mode: number): Promise<void> {
  try {
    await makeWithParents(path, mode);
    if (!(await stat(path)).isDirectory()) throw new Error('it is no folder');
  } catch (err) {
    throw new Error(`error creating directory "${path}": ${messageOf(err)}`, { cause: err });
  }
}

/** Not Node's own `recursive`: where a file system refuses with ENOENT below a folder that exists (as /proc does), that never ends. */
async function makeWithParents(path: string, mode: number): Promise<void> {
  const makeOne = () =>
    mkdir(path, { mode }).catch((err: NodeJS.ErrnoException) => {
      if (err.code !== 'EEXIST') throw err;
    });
  try {
    await makeOne();
  } catch (err) {
    if ((err as NodeJS.ErrnoException).code !== 'ENOENT' || dirname(path) === path) throw err;
    await makeWithParents(dirname(path), mode);
    await makeOne();
  }
}

/**
 * A mount that a container makes below a shared folder is seen outside of it: mount propagation depends on it. Where systemd runs,
 * all is shared; elsewhere the folder is mounted over itself. Answers whether that was done here. Without the right to mount the kubelet
 * runs on, without propagation.
 */
async function makeShared(rootDir: string, logger: Logger): Promise<boolean> {
  if (isShared(await readFile('/proc/self/mountinfo', 'utf8'), rootDir)) return false;
  try {
    await mount(rootDir, rootDir, '', MountFlag.bind | MountFlag.recursive, '');
    await mount('', rootDir, '', MountFlag.shared | MountFlag.recursive, '');
    return true;
  } catch (err) {
    logger.warn({ err, path: rootDir }, 'Could not make the root folder a shared mount: mounts of containers will not propagate');
    return false;
  }
}

/** Whether the mount that a path lies on is shared: what was mounted last at the deepest point above it counts. */
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
