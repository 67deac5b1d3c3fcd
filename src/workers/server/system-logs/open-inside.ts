/**
 * Opens a file or folder inside given roots. The check uses the real path of the opened file, so that a symlink can not be swapped between
 * check and open. Upstream uses http.Dir, which follows symlinks out of the folder.
 */
import { realpath, type FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../../shared/errors/kubelet-error.ts';
import { isWithin } from '../../../shared/linux/mountinfo.ts';
import { openChecked } from '../../../shared/linux/open-checked.ts';

export type Opened =
  | { readonly type: 'file' | 'folder'; readonly handle: FileHandle; readonly size: number; readonly modifiedAtMs: number }
  | { readonly type: 'missing' }
  | { readonly type: 'forbidden'; readonly message: string };

class NotInside extends Error {}

/**
 * @param roots the path is relative to the first; symlinks may lead to the others
 * @param path relative, without `..`
 */
export async function openInside(roots: readonly [string, ...string[]], path: string): Promise<Opened> {
  if (path.split('/').includes('..') || path.includes('\0')) return { type: 'missing' };
  const realRoots = (await Promise.all(roots.map((root) => realpath(root).catch(() => null)))).filter((root) => root !== null);
  try {
    const { handle, stats } = await openChecked(join(roots[0], path), ({ realPath, stats }) => {
      if (!realRoots.some((root) => isWithin(realPath, root)) || (!stats.isFile() && !stats.isDirectory())) throw new NotInside();
    });
    return { type: stats.isFile() ? 'file' : 'folder', handle, size: stats.size, modifiedAtMs: stats.mtimeMs };
  } catch (err) {
    const { code = '' } = err as NodeJS.ErrnoException;
    if (err instanceof NotInside || ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP', 'ENXIO'].includes(code)) return { type: 'missing' };
    return { type: 'forbidden', message: messageOf(err) };
  }
}
