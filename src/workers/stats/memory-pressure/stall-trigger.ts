/**
 * A trigger of PSI: the kernel reports POLLPRI when tasks have waited too long for memory. Linux 5.2 and newer, unless PSI is switched off. The trigger exists
 * while the file is open.
 */
import { closeSync, openSync, writeSync } from 'node:fs';

/**
 * The kernel's documentation suggests 150 ms of a second for a beginning shortage. Half of it, since a check is cheap. The second entry is for a kubelet without
 * CAP_SYS_RESOURCE: the kernel allows it windows of whole two seconds only.
 */
const triggers = ['some 70000 1000000', 'some 140000 2000000'];

/** The node's file, with any version of cgroups. */
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
