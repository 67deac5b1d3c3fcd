/**
 * poll(2) and eventfd(2) through koffi, for events that Node cannot wait for: POLLPRI, and descriptors that are neither pipes nor sockets. A wait occupies one
 * of libuv's file threads until it ends: `bin/kubelet` starts an additional one for this. The end of a worker and process.exit() are delayed until the wait ends, so
 * waits must be short.
 */
import { writeSync, readSync } from 'node:fs';
import { getSystemErrorName } from 'node:util';
import { bindAtFirstUse, type AsyncCall } from './c-library.ts';

/** The bits of sys/poll.h. */
export const PollEvent = { readable: 1, priority: 2, error: 8 } as const;

export interface PollRequest {
  readonly fd: number;
  /** Bits of `PollEvent`. */
  readonly events: number;
}

const EFD_NONBLOCK = 0o4000;
const EFD_CLOEXEC = 0o2000000;
/** struct pollfd: the descriptor (an int), the requested events and the returned events (two shorts). */
const requestBytes = 8;
const EINTR = 4;

interface Functions {
  readonly poll: { readonly async: AsyncCall };
  readonly eventfd: (initial: number, flags: number) => number;
  readonly close: (fd: number) => number;
}

const library = bindAtFirstUse<Functions>(({ func }) => ({
  poll: func('int poll(void *fds, unsigned long nfds, int timeout)'),
  eventfd: func('int eventfd(unsigned int initval, int flags)'),
  close: func('int close(int fd)'),
}));

/** Resolves with the returned events of each request, `error` included, as soon as a request has any; with zeros at the time-out. */
export async function poll(requests: readonly PollRequest[], timeoutMs: number): Promise<number[]> {
  const buffer = Buffer.alloc(requests.length * requestBytes);
  for (const [index, { fd, events }] of requests.entries()) {
    buffer.writeInt32LE(fd, index * requestBytes);
    buffer.writeInt16LE(events, index * requestBytes + 4);
  }
  await new Promise<void>((resolve, reject) => {
    library().poll.async(buffer, requests.length, timeoutMs, (err, ready) => {
      const errno = library().errno();
      if (err) reject(err);
      else if (ready >= 0 || errno === EINTR) resolve();
      else reject(new Error(`poll: ${getSystemErrorName(-errno)}`));
    });
  });
  // This use keeps the buffer from being collected while the call writes to it.
  return requests.map((_, index) => buffer.readInt16LE(index * requestBytes + 6));
}

/** A counter of the kernel that is readable when something was added. The descriptor stays open when its worker is terminated, so somebody must close it. */
export class EventFd {
  readonly fd: number;
  readonly #value = Buffer.alloc(8);
  #closed = false;

  /** Throws when there are no free descriptors. */
  constructor() {
    this.fd = library().eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (this.fd < 0) throw new Error(`eventfd: ${getSystemErrorName(-library().errno())}`);
  }

  /** Adds to the counter, which ends polls that wait for this descriptor. */
  notify(): void {
    this.#value.writeBigUInt64LE(1n);
    if (!this.#closed) writeSync(this.fd, this.#value);
  }

  /** Sets the counter to 0. */
  reset(): void {
    try {
      readSync(this.fd, this.#value);
    } catch (err) {
      if ((err as NodeJS.ErrnoException).code !== 'EAGAIN') throw err;
    }
  }

  /** Idempotent. Node warns when a worker closes descriptors that it did not open, so this does not use Node. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    library().close(this.fd);
  }
}
