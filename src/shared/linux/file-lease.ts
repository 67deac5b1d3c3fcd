/**
 * Finds out whether a file is open for writing: the kernel grants a read lease (fcntl(2), F_SETLEASE) only while no process has the file open for writing.
 * The lease is given back at once. A process that opens the file for writing in between would cause a signal, so SIGURG is chosen, which is ignored
 * by default.
 */
import { constants } from 'node:os';
import { bindAtFirstUse } from './c-library.ts';

/** From fcntl.h. */
const F_SETSIG = 10;
const F_SETLEASE = 1024;
const F_RDLCK = 0;
const F_UNLCK = 2;

interface Functions {
  readonly fcntl: (fd: number, command: number, type: 'int', argument: number) => number;
}

const library = bindAtFirstUse<Functions>(({ func }) => ({ fcntl: func('int fcntl(int fd, int cmd, ...)') }));

/**
 * `fd` must be open for reading only. Undefined: the file system has no leases, or the kubelet lacks the capability for one.
 */
export function hasWriter(fd: number): boolean | undefined {
  const { fcntl, errno } = library();
  if (fcntl(fd, F_SETSIG, 'int', constants.signals.SIGURG) !== 0) return undefined;
  if (fcntl(fd, F_SETLEASE, 'int', F_RDLCK) === 0) {
    fcntl(fd, F_SETLEASE, 'int', F_UNLCK);
    return false;
  }
  return errno() === constants.errno.EAGAIN ? true : undefined;
}
