/**
 * Tells when a file is opened or removed. Node's own watch does not report opens, so inotify(7) is asked through koffi; its
 * descriptor is read without waiting, a few times a second.
 */
import { closeSync, readSync } from 'node:fs';
import { getSystemErrorName } from 'node:util';
import koffi from 'koffi';
import type { Logger } from '../../shared/log/logger.ts';
import type { Clock } from '../../shared/time/clock.ts';

/** Of sys/inotify.h. */
const IN_OPEN = 0x20;
const IN_DELETE_SELF = 0x400;
const IN_NONBLOCK = 0o4000;
const IN_CLOEXEC = 0o2000000;

const pollMs = 200;
/** One event without a name is 16 bytes; that there was one is all that counts. */
const bufferBytes = 4096;

export interface OpenWatchOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called once. */
  readonly onOpen: () => void;
}

/** Starts watching; what it returns stops it. Throws where inotify has no room left. */
export function watchOpens(path: string, { clock, logger, onOpen }: OpenWatchOptions): () => void {
  const fd = startInotify(path);
  const buffer = Buffer.alloc(bufferBytes);
  let cancel = (): void => {};
  const poll = (): void => {
    try {
      readSync(fd, buffer, 0, buffer.length, null);
      closeSync(fd);
      cancel = () => {};
      onOpen();
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EAGAIN') logger.error({ err, path }, 'The lock file can no longer be watched');
      else arm();
    }
  };
  const arm = (): void => {
    const disarm = clock.after(pollMs, poll);
    cancel = () => {
      disarm();
      closeSync(fd);
    };
  };
  arm();
  return () => cancel();
}

function startInotify(path: string): number {
  const library = koffi.load(null);
  const init = library.func('int inotify_init1(int flags)') as unknown as (flags: number) => number;
  const add = library.func('int inotify_add_watch(int fd, const char *path, uint32_t mask)') as unknown as (
    fd: number,
    path: string,
    mask: number,
  ) => number;
  const fd = init(IN_NONBLOCK | IN_CLOEXEC);
  if (fd < 0) throw new Error(`inotify_init1: ${getSystemErrorName(-koffi.errno())}`);
  if (add(fd, path, IN_OPEN | IN_DELETE_SELF) >= 0) return fd;
  const failure = getSystemErrorName(-koffi.errno());
  closeSync(fd);
  throw new Error(`inotify_add_watch "${path}": ${failure}`);
}
