/** Unmounts exactly one mount point, without following symlinks in its path. */
import { open, readlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { openPath } from './directory-calls.ts';
import { unmount, UnmountFlag } from './native.ts';

/**
 * `target` is a mount point from the kernel's mount table: absolute, without symlinks. Succeeds when nothing is mounted there. Also succeeds
 * when the path has symlinks: then another mount hides the mount point, and its content may have a symlink to a mount of the host.
 */
export async function unmountAt(target: string, { force = false }: { readonly force?: boolean } = {}): Promise<void> {
  try {
    const parent = await open(dirname(target), openPath);
    try {
      const parentPath = `/proc/self/fd/${parent.fd}`;
      if ((await readlink(parentPath)) !== dirname(target)) return;
      await unmount(join(parentPath, basename(target)), UnmountFlag.noFollow | (force ? UnmountFlag.force : 0));
    } finally {
      await parent.close();
    }
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    // EINVAL: nothing is mounted there. The others: the path does not exist.
    if (code === 'EINVAL' || code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return;
    throw Object.assign(new Error(`${code}: unmount '${target}'`, { cause: err }), { code });
  }
}
