/** hostPath's types: what must be there, and what is made where nothing is (upstream pkg/volume/hostpath, checkType). */
import { constants, type Stats } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import type { HelperOperations } from '../shared/contracts/helper.ts';

const checks: Readonly<
  Record<string, { readonly noun: string; readonly holds: (stats: Stats) => boolean; readonly make?: (path: string) => Promise<void> }>
> = {
  DirectoryOrCreate: { noun: 'directory', holds: (stats) => stats.isDirectory(), make: makeDirectory },
  Directory: { noun: 'directory', holds: (stats) => stats.isDirectory() },
  FileOrCreate: { noun: 'file', holds: (stats) => stats.isFile(), make: makeFile },
  File: { noun: 'file', holds: (stats) => stats.isFile() },
  Socket: { noun: 'socket file', holds: (stats) => stats.isSocket() },
  CharDevice: { noun: 'character device', holds: (stats) => stats.isCharacterDevice() },
  BlockDevice: { noun: 'block device', holds: (stats) => stats.isBlockDevice() },
};

/** Symlinks are followed. A path that cannot be read counts as not there. */
export async function checkHostPath({ path, type }: HelperOperations['checkHostPath']['request']): Promise<{ failure: string | null }> {
  const check = Object.hasOwn(checks, type) ? checks[type] : undefined;
  if (!check) return { failure: `${type} is an invalid volume type` };
  const stats = await stat(path).catch(() => undefined);
  if (!stats && check.make) {
    await check.make(path);
    return { failure: null };
  }
  return { failure: stats && check.holds(stats) ? null : `hostPath type check failed: ${path} is not a ${check.noun}` };
}

async function makeDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o755 });
}

/** Parents are not made. */
async function makeFile(path: string): Promise<void> {
  const file = await open(path, constants.O_RDONLY | constants.O_CREAT, 0o644);
  await file.close();
}
