/**
 * A connection to a Unix socket that receives file descriptors (SCM_RIGHTS), through koffi: Node's sockets drop them. For short exchanges: each call waits in
 * one of libuv's file threads, at most for the time-out. `close` ends a wait.
 */
import { constants } from 'node:os';
import { bindAtFirstUse, type AsyncCall } from './c-library.ts';
import { toError } from './native.ts';
import { toAddress } from './send-datagram.ts';

/** From sys/socket.h and bits/socket.h. The same numbers on x86-64 and arm64. */
const AF_UNIX = 1;
const SOCK_STREAM = 1;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SO_RCVTIMEO = 20;
const SO_SNDTIMEO = 21;
const SHUT_RDWR = 2;
const MSG_NOSIGNAL = 0x4000;
const MSG_CTRUNC = 0x8;
const MSG_CMSG_CLOEXEC = 0x40000000;
const SCM_RIGHTS = 1;
/** struct cmsghdr: a size_t and two ints. */
const controlHeaderBytes = 16;
/** Room for 16 descriptors. */
const controlBytes = controlHeaderBytes + 64;
const receiveBytes = 64 * 1024;

interface MessageHeader {
  readonly name: null;
  readonly nameLength: number;
  readonly iov: readonly { readonly base: Buffer; readonly length: number }[];
  readonly iovLength: number;
  readonly control: Buffer;
  /** The call writes this field and `flags`. */
  controlLength: number;
  flags: number;
}

interface Functions {
  readonly socket: (family: number, type: number, protocol: number) => number;
  readonly setsockopt: (fd: number, level: number, name: number, value: Buffer, length: number) => number;
  readonly shutdown: (fd: number, how: number) => number;
  readonly close: (fd: number) => number;
  readonly connect: { readonly async: AsyncCall };
  readonly send: { readonly async: AsyncCall };
  readonly recvmsg: { readonly async: AsyncCall };
}

const library = bindAtFirstUse<Functions>(({ func, koffi, library: libc }) => {
  const vector = koffi.struct({ base: 'void *', length: 'size_t' });
  const header = koffi.struct({
    name: 'void *',
    nameLength: 'unsigned int',
    iov: koffi.pointer(vector),
    iovLength: 'size_t',
    control: 'void *',
    controlLength: 'size_t',
    flags: 'int',
  });
  return {
    socket: func('int socket(int family, int type, int protocol)'),
    setsockopt: func('int setsockopt(int fd, int level, int name, const void *value, unsigned int length)'),
    shutdown: func('int shutdown(int fd, int how)'),
    close: func('int close(int fd)'),
    connect: func('int connect(int fd, const void *address, unsigned int length)'),
    send: func('intptr_t send(int fd, const void *data, size_t length, int flags)'),
    // A prototype as text can't name the type of the header, which the call also writes.
    recvmsg: libc.func('recvmsg', 'intptr_t', ['int', koffi.inout(koffi.pointer(header)), 'int']),
  };
});

export interface Received {
  /** Empty: the other side has closed the connection. */
  readonly data: Buffer;
  /** The receiver owns the descriptors and must close them. */
  readonly descriptors: readonly number[];
}

export class DescriptorSocket {
  readonly #fd: number;
  readonly #path: string;
  #calls = 0;
  #isClosed = false;

  private constructor(fd: number, path: string) {
    this.#fd = fd;
    this.#path = path;
  }

  /** Rejects with SystemCallError, as the other calls do; EAGAIN at the time-out. */
  static async connect(path: string, timeoutMs: number): Promise<DescriptorSocket> {
    const address = toAddress(path);
    const fd = library().socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) throw toError('socket', library().errno(), path);
    const socket = new DescriptorSocket(fd, path);
    try {
      // struct timeval: seconds and microseconds.
      const time = Buffer.alloc(16);
      time.writeBigInt64LE(BigInt(Math.trunc(timeoutMs / 1000)), 0);
      time.writeBigInt64LE(BigInt(Math.round((timeoutMs % 1000) * 1000)), 8);
      for (const option of [SO_RCVTIMEO, SO_SNDTIMEO]) {
        if (library().setsockopt(fd, SOL_SOCKET, option, time, time.length) !== 0) throw toError('setsockopt', library().errno(), path);
      }
      await socket.#call('connect', [address, address.length]);
      return socket;
    } catch (err) {
      socket.close();
      throw err;
    }
  }

  async send(data: Buffer): Promise<void> {
    for (let sent = 0; sent < data.length;) {
      const rest = data.subarray(sent);
      sent += await this.#call('send', [rest, rest.length, MSG_NOSIGNAL]);
    }
  }

  async receive(): Promise<Received> {
    const data = Buffer.alloc(receiveBytes);
    const control = Buffer.alloc(controlBytes);
    const header: MessageHeader = {
      name: null,
      nameLength: 0,
      iov: [{ base: data, length: data.length }],
      iovLength: 1,
      control,
      controlLength: control.length,
      flags: 0,
    };
    const length = await this.#call('recvmsg', [header, MSG_CMSG_CLOEXEC]);
    const descriptors = readDescriptors(control.subarray(0, header.controlLength));
    if ((header.flags & MSG_CTRUNC) === 0) return { data: data.subarray(0, length), descriptors };
    descriptors.forEach(closeDescriptor);
    throw toError('recvmsg', constants.errno.EMSGSIZE, this.#path);
  }

  /** Idempotent. Calls that wait end. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    library().shutdown(this.#fd, SHUT_RDWR);
    // A thread may still use the descriptor, whose number another file could get. The last call closes it.
    if (this.#calls === 0) closeDescriptor(this.#fd);
  }

  #call(name: 'connect' | 'send' | 'recvmsg', args: readonly unknown[]): Promise<number> {
    if (this.#isClosed) return Promise.reject(toError(name, constants.errno.EBADF, this.#path));
    this.#calls += 1;
    return new Promise((resolve, reject) => {
      library()[name].async(this.#fd, ...args, (err: Error | null, result: number) => {
        const errno = library().errno();
        this.#calls -= 1;
        if (this.#isClosed && this.#calls === 0) closeDescriptor(this.#fd);
        if (err) reject(err);
        else if (result < 0) reject(toError(name, errno, this.#path));
        else resolve(result);
      });
    });
  }
}

/** Reads the control messages of recvmsg(2): each has a size_t length, an int level, an int type, and its data, and begins at a multiple of 8 bytes. */
export function readDescriptors(control: Buffer): number[] {
  const descriptors: number[] = [];
  for (let at = 0; at + controlHeaderBytes <= control.length;) {
    const length = Number(control.readBigUInt64LE(at));
    if (length < controlHeaderBytes || at + length > control.length) break;
    const isRights = control.readInt32LE(at + 8) === SOL_SOCKET && control.readInt32LE(at + 12) === SCM_RIGHTS;
    const count = isRights ? Math.trunc((length - controlHeaderBytes) / 4) : 0;
    for (let index = 0; index < count; index += 1) descriptors.push(control.readInt32LE(at + controlHeaderBytes + index * 4));
    at += Math.ceil(length / 8) * 8;
  }
  return descriptors;
}

/** Node warns when a thread closes descriptors that it did not open, so this does not use Node. */
export function closeDescriptor(fd: number): void {
  library().close(fd);
}
