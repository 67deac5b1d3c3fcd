/**
 * inotify(7) through koffi, for events that Node's watch does not report: Node has no event for an open, and the same event for a removal and
 * a creation. Nothing wakes the reader: the descriptor is non-blocking, and the caller reads it when it has another reason to run.
 */
import { closeSync, readSync } from 'node:fs';
import { getSystemErrorName } from 'node:util';
import { bindAtFirstUse } from './c-library.ts';

/** The masks of sys/inotify.h. */
export const InotifyMask = {
  open: 0x20,
  movedFrom: 0x40,
  delete: 0x200,
  deleteSelf: 0x400,
} as const;

const IN_NONBLOCK = 0o4000;
const IN_CLOEXEC = 0o2000000;
/** The size of struct inotify_event without its name: wd, mask, cookie, len. */
const headerBytes = 16;
/** Holds a hundred events with the longest names. */
const bufferBytes = 32 * 1024;

export interface InotifyEvent {
  readonly mask: number;
  /** Empty for the watched file itself. */
  readonly name: string;
}

interface Functions {
  readonly init: (flags: number) => number;
  readonly add: (fd: number, path: string, mask: number) => number;
}

const library = bindAtFirstUse<Functions>(({ func }) => ({
  init: func('int inotify_init1(int flags)'),
  add: func('int inotify_add_watch(int fd, const char *path, uint32_t mask)'),
}));

export class Inotify {
  readonly #fd: number;
  readonly #buffer = Buffer.alloc(bufferBytes);
  #closed = false;

  /** Throws when a limit of inotify is reached, or when the path does not exist. */
  constructor(path: string, mask: number) {
    const { init, add, errno } = library();
    const fd = init(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) throw new Error(`inotify_init1: ${getSystemErrorName(-errno())}`);
    this.#fd = fd;
    if (add(fd, path, mask) >= 0) return;
    const failure = getSystemErrorName(-errno());
    this.close();
    throw new Error(`inotify_add_watch "${path}": ${failure}`);
  }

  /** Returns the events since the last call, in order. */
  read(): InotifyEvent[] {
    const events: InotifyEvent[] = [];
    for (;;) {
      const bytes = this.#readIntoBuffer();
      if (bytes === 0) return events;
      events.push(...decode(this.#buffer.subarray(0, bytes)));
    }
  }

  /** Idempotent. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    closeSync(this.#fd);
  }

  #readIntoBuffer(): number {
    try {
      return readSync(this.#fd, this.#buffer, 0, bufferBytes, null);
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code === 'EAGAIN') return 0;
      throw err;
    }
  }
}

function decode(bytes: Buffer): InotifyEvent[] {
  const events: InotifyEvent[] = [];
  for (let offset = 0; offset + headerBytes <= bytes.length;) {
    const end = offset + headerBytes + bytes.readUInt32LE(offset + 12);
    // The name is padded with NULs.
    const [name = ''] = bytes.toString('utf8', offset + headerBytes, end).split('\0');
    events.push({ mask: bytes.readUInt32LE(offset + 4), name });
    offset = end;
  }
  return events;
}
