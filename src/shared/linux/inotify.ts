/**
 * inotify(7) through koffi, where Node's own watch says too little: it reports no opens, and calls a removal and a creation the same. Nothing
 * wakes the reader: the descriptor does not block, and is read when the caller has another reason to.
 */
import { closeSync, readSync } from 'node:fs';
import { createRequire } from 'node:module';
import { getSystemErrorName } from 'node:util';
import type koffi from 'koffi';

/** Of sys/inotify.h. */
export const InotifyMask = {
  open: 0x20,
  movedFrom: 0x40,
  delete: 0x200,
  deleteSelf: 0x400,
} as const;

const IN_NONBLOCK = 0o4000;
const IN_CLOEXEC = 0o2000000;
/** struct inotify_event without its name: wd, mask, cookie, len. */
const headerBytes = 16;
/** Holds a hundred events with the longest names. */
const bufferBytes = 32 * 1024;

export interface InotifyEvent {
  readonly mask: number;
  /** Empty: the watched file itself. */
  readonly name: string;
}

export class Inotify {
  readonly #fd: number;
  readonly #buffer = Buffer.alloc(bufferBytes);
  #closed = false;

  /** Throws where inotify has no room left, or there is nothing to watch. */
  constructor(path: string, mask: number) {
    const native = createRequire(import.meta.url)('koffi') as typeof koffi;
    const library = native.load(null);
    const init = library.func('int inotify_init1(int flags)') as unknown as (flags: number) => number;
    const add = library.func('int inotify_add_watch(int fd, const char *path, uint32_t mask)') as unknown as (
      fd: number,
      path: string,
      mask: number,
    ) => number;
    const fd = init(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0) throw new Error(`inotify_init1: ${getSystemErrorName(-native.errno())}`);
    this.#fd = fd;
    if (add(fd, path, mask) >= 0) return;
    const failure = getSystemErrorName(-native.errno());
    this.close();
    throw new Error(`inotify_add_watch "${path}": ${failure}`);
  }

  /** The events since the last call, in order. */
  read(): InotifyEvent[] {
    const events: InotifyEvent[] = [];
    for (;;) {
      const bytes = this.#readSome();
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

  #readSome(): number {
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
  for (let at = 0; at + headerBytes <= bytes.length;) {
    const end = at + headerBytes + bytes.readUInt32LE(at + 12);
    // Padded with NULs.
    const [name = ''] = bytes.toString('utf8', at + headerBytes, end).split('\0');
    events.push({ mask: bytes.readUInt32LE(at + 4), name });
    at = end;
  }
  return events;
}
