/**
 * Opens what lies inside a folder, wherever symlinks lead: what was opened is asked where it lies, so that nothing can be swapped in
 * between. Upstream relies on http.Dir, which follows symlinks out of the folder; this does not.
 */
import { constants } from 'node:fs';
import { open, readlink, realpath, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';

export type Opened =
  | { readonly type: 'file' | 'folder'; readonly handle: FileHandle; readonly size: number; readonly modifiedAtMs: number }
  | { readonly type: 'missing' }
  | { readonly type: 'forbidden'; readonly message: string };

/** A pipe must not make the open wait, nor a terminal become ours. */
const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOCTTY;

/**
 * @param roots the first is where the path begins; in the others it may end, by symlinks
 * @param path relative, without `..`
 */
export async function openInside(roots: readonly [string, ...string[]], path: string): Promise<Opened> {
  if (path.split('/').includes('..') || path.includes('\0')) return { type: 'missing' };
  let handle: FileHandle;
  try {
    handle = await open(join(roots[0], path), flags);
  } catch (err) {
    const { code = '' } = err as NodeJS.ErrnoException;
    if (['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'ENXIO'].includes(code)) return { type: 'missing' };
    return { type: 'forbidden', message: messageOf(err) };
  }
  try {
    const [place, stat, ...real] = await Promise.all([readlink(`/proc/self/fd/${handle.fd}`), handle.stat(), ...roots.map(realOf)]);
    const inside = real.some((root) => root !== null && (place === root || place.startsWith(`${root}/`)));
    const type = stat.isFile() ? 'file' : stat.isDirectory() ? 'folder' : null;
    if (inside && type) return { type, handle, size: stat.size, modifiedAtMs: stat.mtimeMs };
  } catch {
    // It has vanished meanwhile.
  }
  await handle.close();
  return { type: 'missing' };
}

async function realOf(root: string): Promise<string | null> {
  return realpath(root).catch(() => null);
}
