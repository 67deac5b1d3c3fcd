/**
 * Lists objects of the kernel's network over rtnetlink, through koffi: Node's networkInterfaces() omits interfaces without carrier. The calls run in
 * libuv's threads, because the kernel's lock of the network may be held for some time.
 */
import { endianness } from 'node:os';
import { bindAtFirstUse, type AsyncCall } from './c-library.ts';
import { toError } from './native.ts';

/** Message types of linux/rtnetlink.h: `get…` is a request, `new…` a message of the answer. */
export const Rtnetlink = { newLink: 16, getLink: 18, newAddress: 20, getAddress: 22 } as const;

export interface NetlinkMessage {
  readonly type: number;
  /** The bytes after the header (struct nlmsghdr). Numbers in the payload are in the host's byte order. */
  readonly payload: Buffer;
}

const AF_NETLINK = 16;
const SOCK_RAW = 3;
const SOCK_CLOEXEC = 0o2000000;
const NETLINK_ROUTE = 0;
const MSG_DONTWAIT = 0x40;
/** NLM_F_REQUEST and NLM_F_DUMP. */
const dumpFlags = 0x301;
/** NLMSG_ERROR and NLMSG_DONE. */
const messageError = 2;
const messageDone = 3;
/** struct nlmsghdr: the length (u32), the type (u16), the flags (u16), and eight bytes that are not used here. */
const headerBytes = 16;
/** The kernel's datagrams have at most 32 KiB. */
const datagramBytes = 64 * 1024;
/** Room for a node with 10,000 interfaces, of about 1.5 KiB each. */
const maxBytes = 16 * 1024 * 1024;

interface Functions {
  readonly socket: (family: number, type: number, protocol: number) => number;
  readonly send: { readonly async: AsyncCall };
  readonly recv: { readonly async: AsyncCall };
  readonly close: (fd: number) => number;
}

const library = bindAtFirstUse<Functions>(({ func }) => ({
  socket: func('int socket(int family, int type, int protocol)'),
  send: func('intptr_t send(int fd, const void *data, size_t length, int flags)'),
  recv: func('intptr_t recv(int fd, _Out_ void *data, size_t length, int flags)'),
  close: func('int close(int fd)'),
}));

/** Returns all messages of one dump, in the kernel's order. Rejects with SystemCallError, or when the answer is malformed or exceeds 16 MiB. */
export async function dumpNetlink(requestType: number): Promise<NetlinkMessage[]> {
  const fd = library().socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
  if (fd < 0) throw toError('socket', library().errno());
  try {
    const request = toDumpRequest(requestType);
    // The kernel answers during the calls, so that no call waits for data.
    await call('send', fd, request);
    const messages: NetlinkMessage[] = [];
    const buffer = Buffer.alloc(datagramBytes);
    for (let total = 0; total <= maxBytes;) {
      const length = await call('recv', fd, buffer);
      if (length === 0 || length > datagramBytes) throw new Error(`a datagram of netlink has ${length} bytes`);
      total += length;
      const { messages: more, isLast } = parseNetlink(Buffer.from(buffer.subarray(0, length)));
      messages.push(...more);
      if (isLast) return messages;
    }
    throw new Error(`the answer of netlink exceeds ${maxBytes} bytes`);
  } finally {
    library().close(fd);
  }
}

/** Returns a header and an address family of 0, which means all families. */
function toDumpRequest(type: number): Buffer {
  const request = Buffer.alloc(headerBytes + 4);
  const view = toView(request);
  view.setUint32(0, request.length, isLittleEndian);
  view.setUint16(4, type, isLittleEndian);
  view.setUint16(6, dumpFlags, isLittleEndian);
  return request;
}

/** Splits a datagram into messages. `isLast`: the dump ends with this datagram. Throws when the kernel reports an error. */
export function parseNetlink(datagram: Buffer): { messages: NetlinkMessage[]; isLast: boolean } {
  const view = toView(datagram);
  const messages: NetlinkMessage[] = [];
  for (let offset = 0; offset + headerBytes <= datagram.length;) {
    const length = view.getUint32(offset, isLittleEndian);
    const type = view.getUint16(offset + 4, isLittleEndian);
    if (length < headerBytes || offset + length > datagram.length) throw new Error('a message of netlink is cut');
    if (type === messageDone) return { messages, isLast: true };
    const payload = datagram.subarray(offset + headerBytes, offset + length);
    if (type === messageError) throw toError('netlink', payload.length < 4 ? 0 : -toView(payload).getInt32(0, isLittleEndian));
    messages.push({ type, payload });
    offset += align(length);
  }
  return { messages, isLast: false };
}

/** Returns the attributes that follow a message's fixed part, by their type. struct rtattr: the length (u16) and the type (u16) before the value. */
export function parseAttributes(payload: Buffer, fixedBytes: number): Map<number, Buffer> {
  const view = toView(payload);
  const attributes = new Map<number, Buffer>();
  for (let offset = fixedBytes; offset + 4 <= payload.length;) {
    const length = view.getUint16(offset, isLittleEndian);
    if (length < 4 || offset + length > payload.length) break;
    attributes.set(view.getUint16(offset + 2, isLittleEndian), payload.subarray(offset + 4, offset + length));
    offset += align(length);
  }
  return attributes;
}

export const isLittleEndian = endianness() === 'LE';

export function toView(bytes: Buffer): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
}

/** NLMSG_ALIGN and RTA_ALIGN: messages and attributes begin at multiples of four bytes. */
function align(length: number): number {
  return (length + 3) & ~3;
}

function call(name: 'send' | 'recv', fd: number, data: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    library()[name].async(fd, data, data.length, MSG_DONTWAIT, (err: Error | null, result: number) => {
      if (err) reject(err);
      else if (result < 0) reject(toError(name, library().errno()));
      else resolve(Number(result));
    });
  });
}
