/**
 * Asks the kernel whether a file is open for writing (fcntl(2), F_SETLEASE): it grants a read lease only while nobody has. The lease is given
 * back at once. Somebody who opens the file for writing in between would cause a signal, so the signal is one that is ignored by default.
 */
import { createRequire } from 'node:module';
import { constants } from 'node:os';
import type koffi from 'koffi';

const F_SETSIG = 10;
const F_SETLEASE = 1024;
const F_RDLCK = 0;
const F_UNLCK = 2;

type Fcntl = (fd: number, command: number, argument: number) => number;
let loaded: { readonly fcntl: Fcntl; readonly errno: () => number } | undefined;

function library(): NonNullable<typeof loaded> {
  if (loaded) return loaded;
  const native = createRequire(import.meta.url)('koffi') as typeof koffi;
  const fcntl = native.load(null).func('int fcntl(int fd, int cmd, ...)') as unknown as (...args: readonly unknown[]) => number;
  loaded = { fcntl: (fd, command, argument) => fcntl(fd, command, 'int', argument), errno: () => native.errno() };
  return loaded;
}

/**
 * `fd` must be open for reading only. Undefined: the file system or a missing capability does not allow the question.
 */
export function hasWriter(fd: number): boolean | undefined {
  const { fcntl, errno } = library();
  if (fcntl(fd, F_SETSIG, constants.signals.SIGURG) !== 0) return undefined;
  if (fcntl(fd, F_SETLEASE, F_RDLCK) === 0) {
    fcntl(fd, F_SETLEASE, F_UNLCK);
    return false;
  }
  return errno() === constants.errno.EAGAIN ? true : undefined;
}
