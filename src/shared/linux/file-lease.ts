/**
 * Asks the kernel whether a file is open for writing (fcntl(2), F_SETLEASE): it grants a read lease only while nobody has. The lease is given
 * back at once. Somebody who opens the file for writing in between would cause a signal, so the signal is one that is ignored by default.
 */
import { constants } from 'node:os';
import { bindAtFirstUse } from './c-library.ts';

const F_SETSIG = 10;
const F_SETLEASE = 1024;
const F_RDLCK = 0;
const F_UNLCK = 2;

interface Functions {
  readonly fcntl: (fd: number, command: number, type: 'int', argument: number) => number;
}

const library = bindAtFirstUse<Functions>(({ func }) => ({ fcntl: func('int fcntl(int fd, int cmd, ...)') }));

/**
 * `fd` must be open for reading only. Undefined: the file system or a missing capability does not allow the question.
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
