/**
 * Sends a datagram to a Unix socket, through koffi: Node has no such sockets. The call never waits: when the receiver's queue is full, it fails with EAGAIN.
 */
import { constants } from 'node:os';
import { bindAtFirstUse } from './c-library.ts';
import { toError } from './native.ts';

const AF_UNIX = 1;
const SOCK_DGRAM = 2;
const SOCK_CLOEXEC = 0o2000000;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
/** The size of sun_path in struct sockaddr_un. */
const maxPathBytes = 108;

interface Functions {
  readonly socket: (family: number, type: number, protocol: number) => number;
  readonly sendto: (fd: number, data: Buffer, length: number, flags: number, address: Buffer, addressLength: number) => number;
  readonly close: (fd: number) => number;
}

const library = bindAtFirstUse<Functions>(({ func }) => ({
  socket: func('int socket(int family, int type, int protocol)'),
  sendto: func('intptr_t sendto(int fd, const void *data, size_t length, int flags, const void *address, unsigned int addressLength)'),
  close: func('int close(int fd)'),
}));

/** `path` is absolute, or begins with `@` for a socket in the abstract namespace. Throws SystemCallError. */
export function sendDatagram(path: string, text: string): void {
  const address = toAddress(path);
  const { socket, sendto, close, errno } = library();
  const fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) throw toError('socket', errno());
  try {
    const data = Buffer.from(text);
    const sent = sendto(fd, data, data.length, MSG_DONTWAIT | MSG_NOSIGNAL, address, address.length);
    if (sent !== data.length) throw toError('sendto', errno(), path);
  } finally {
    close(fd);
  }
}

/** struct sockaddr_un. An abstract name begins with a NUL and ends with the address; a path ends with a NUL. */
export function toAddress(path: string): Buffer {
  const isAbstract = path.startsWith('@');
  if ((!isAbstract && !path.startsWith('/')) || path.includes('\0')) throw toError('sendto', constants.errno.EINVAL, path);
  const name = Buffer.from(isAbstract ? `\0${path.slice(1)}` : `${path}\0`);
  if (name.length > maxPathBytes) throw toError('sendto', constants.errno.ENAMETOOLONG, path);
  const family = Buffer.alloc(2);
  family.writeUInt16LE(AF_UNIX);
  return Buffer.concat([family, name]);
}
