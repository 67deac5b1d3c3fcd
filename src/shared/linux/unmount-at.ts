/** Unmounts at exactly one place. */
import { open, readlink } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { openPath } from './directory-calls.ts';
import { unmount, UnmountFlag } from './native.ts';

/**
 * `target` is a mount point as the kernel's table names it: absolute, without symlinks. Nothing mounted there is a success. So is a path that leads
 * elsewhere: another mount hides the mount point, and what is there in its stead may have a symlink to a mount of the host.
 */
export async function unmountAt(target: string, { force = false }: { readonly force?: boolean } = {}): Promise<void> {
  try {
    const parent = await open(dirname(target), openPath);
    try {
      const place = `/proc/self/fd/${parent.fd}`;
      if ((await readlink(place)) !== dirname(target)) return;
      await unmount(join(place, basename(target)), UnmountFlag.noFollow | (force ? UnmountFlag.force : 0));
    } finally {
      await parent.close();
    }
  } catch (err) {
    const { code } = err as NodeJS.ErrnoException;
    // EINVAL: nothing is mounted there; the others: nor is there a place.
    if (code === 'EINVAL' || code === 'ENOENT' || code === 'ENOTDIR' || code === 'ELOOP') return;
    throw Object.assign(new Error(`${code}: unmount '${target}'`, { cause: err }), { code });
  }
}
