/**
 * A PSI trigger: the kernel reports POLLPRI when tasks have waited too long for memory. Linux 5.2 and newer have it, unless PSI is switched off. The
 * trigger exists while the file is open.
 */
import { closeSync, openSync, writeSync } from 'node:fs';

/**
 * The stall and the window in µs: some task has waited 70 ms within a second. The kernel's documentation suggests 150 ms for a beginning shortage; about half
 * of that, because a check is cheap. The second entry is for a kubelet without CAP_SYS_RESOURCE, which the kernel allows only windows of multiples of 2 s.
 */
const triggers = ['some 70000 1000000', 'some 140000 2000000'];

/** The file for the whole node. It exists with both versions of cgroups. */
export const nodeMemoryPressure = '/proc/pressure/memory';

/** Throws without PSI. */
export function openStallTrigger(path = nodeMemoryPressure): number {
  const fd = openSync(path, 'r+');
  try {
    for (const [index, trigger] of triggers.entries()) {
      try {
        // The kernel replaces the last byte by a NUL.
        writeSync(fd, `${trigger}\0`);
        return fd;
      } catch (err) {
        if ((err as NodeJS.ErrnoException).code !== 'EINVAL' || index === triggers.length - 1) throw err;
      }
    }
    throw new Error('no trigger');
  } catch (err) {
    closeSync(fd);
    throw err;
  }
}
