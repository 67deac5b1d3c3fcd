/** Checks the type of a hostPath volume, and creates a missing file or folder if the type allows it (upstream pkg/volume/hostpath, checkType). */
import { constants, type Stats } from 'node:fs';
import { mkdir, open, stat } from 'node:fs/promises';
import type { HelperOperations } from '../shared/contracts/helper.ts';
import { goQuote } from '../shared/kubernetes/go-text.ts';

const checks: Readonly<
  Record<string, { readonly noun: string; readonly matches: (stats: Stats) => boolean; readonly create?: (path: string) => Promise<void> }>
> = {
  DirectoryOrCreate: { noun: 'directory', matches: (stats) => stats.isDirectory(), create: createDirectory },
  Directory: { noun: 'directory', matches: (stats) => stats.isDirectory() },
  FileOrCreate: { noun: 'file', matches: (stats) => stats.isFile(), create: createFile },
  File: { noun: 'file', matches: (stats) => stats.isFile() },
  Socket: { noun: 'socket file', matches: (stats) => stats.isSocket() },
  CharDevice: { noun: 'character device', matches: (stats) => stats.isCharacterDevice() },
  BlockDevice: { noun: 'block device', matches: (stats) => stats.isBlockDevice() },
};

/** Follows symlinks. A path that cannot be read counts as missing. */
export async function checkHostPath({ path, type }: HelperOperations['checkHostPath']['request']): Promise<{ failure: string | null }> {
  const check = Object.hasOwn(checks, type) ? checks[type] : undefined;
  if (!check) return { failure: `${type} is an invalid volume type` };
  const found = await stat(path).catch((err: NodeJS.ErrnoException) => err);
  if (found instanceof Error) {
    if (!check.create)
      return { failure: unknownType(path, check.noun, found.code === 'ENOENT' ? `path ${goQuote(path)} does not exist` : found.message) };
    await check.create(path);
    return { failure: null };
  }
  if (check.matches(found)) return { failure: null };
  const actual = ['Directory', 'File', 'Socket', 'CharDevice', 'BlockDevice'].find((name) => checks[name]?.matches(found));
  if (actual === undefined)
    return { failure: unknownType(path, check.noun, 'only recognise file, directory, socket, block device and character device') };
  return { failure: `hostPath type check failed: ${path} is not a ${check.noun}, it's a ${actual}` };
}

function unknownType(path: string, noun: string, why: string): string {
  return `hostPath type check failed, ${path} is not a ${noun}, unable to determine its type: ${why}`;
}

async function createDirectory(path: string): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o755 });
}

/** Does not create parent folders. */
async function createFile(path: string): Promise<void> {
  const file = await open(path, constants.O_RDONLY | constants.O_CREAT, 0o644);
  await file.close();
}
