/**
 * Takes logind's delay lock: while its descriptor is open, logind delays a shutdown, up to InhibitDelayMaxSec. The lock lives as long as the descriptor, not as the
 * connection, and ends with the process. The library dbus-native cannot receive descriptors in Node, so this exchange has a connection of its own.
 */
import { messageType, type Message } from 'dbus-native';
import { marshall, unmarshall } from 'dbus-native/lib/message.js';
import { closeDescriptor, DescriptorSocket } from '../../shared/linux/descriptor-socket.ts';
import { logind } from './logind-names.ts';

export interface Inhibitor {
  /** Idempotent. The shutdown continues when no other lock delays it. */
  release(): void;
}

/** The fixed part of a D-Bus message. It has the byte order at 0, the length of the body at 4, the serial at 8 and the length of the header fields at 12. */
const fixedHeaderBytes = 16;
const maxReplyBytes = 64 * 1024;
/** `hello` has the serial 1. */
const inhibitSerial = 2;

/** Rejects when logind refuses, as it does during a shutdown, or does not answer in time. */
export async function takeInhibitor(socketPath: string, timeoutMs: number, signal: AbortSignal): Promise<Inhibitor> {
  signal.throwIfAborted();
  const socket = await DescriptorSocket.connect(socketPath, timeoutMs);
  const close = () => socket.close();
  signal.addEventListener('abort', close, { once: true });
  const descriptors: number[] = [];
  try {
    await authenticate(socket);
    await socket.send(Buffer.concat([marshall(hello), marshall(inhibit)]));
    const reply = await readReply(socket, descriptors);
    if (reply.type === messageType.error) throw new Error(`${reply.errorName}: ${textOf(reply)}`);
    const fd = descriptors.shift();
    if (fd === undefined) throw new Error('logind has sent no lock');
    return toInhibitor(fd);
  } finally {
    signal.removeEventListener('abort', close);
    descriptors.forEach(closeDescriptor);
    socket.close();
  }
}

function textOf({ body: [text] = [] }: Message): string {
  return typeof text === 'string' ? text : '';
}

function toInhibitor(fd: number): Inhibitor {
  let isReleased = false;
  return {
    release: () => {
      if (!isReleased) closeDescriptor(fd);
      isReleased = true;
    },
  };
}

const hello: Message = {
  type: messageType.methodCall,
  serial: 1,
  destination: 'org.freedesktop.DBus',
  path: '/org/freedesktop/DBus',
  interface: 'org.freedesktop.DBus',
  member: 'Hello',
};

/** What, who, why and mode, with upstream's texts. */
const inhibit: Message = {
  type: messageType.methodCall,
  serial: inhibitSerial,
  destination: logind.service,
  path: logind.path,
  interface: logind.managerInterface,
  member: 'Inhibit',
  signature: 'ssss',
  body: ['shutdown', 'kubelet', 'Kubelet needs time to handle node shutdown', 'delay'],
};

async function authenticate(socket: DescriptorSocket): Promise<void> {
  const uid = Buffer.from(String(process.getuid?.() ?? 0)).toString('hex');
  await socket.send(Buffer.from(`\0AUTH EXTERNAL ${uid}\r\n`));
  await expectLine(socket, 'OK');
  await socket.send(Buffer.from('NEGOTIATE_UNIX_FD\r\n'));
  await expectLine(socket, 'AGREE_UNIX_FD');
  await socket.send(Buffer.from('BEGIN\r\n'));
}

/** The server sends one line for each of the client’s, and nothing else. */
async function expectLine(socket: DescriptorSocket, word: string): Promise<void> {
  let line = '';
  while (!line.endsWith('\r\n')) {
    const { data } = await socket.receive();
    line += data.toString('latin1');
    if (data.length === 0 || line.length > 1024) break;
  }
  if (line.split(/[ \r]/, 1)[0] !== word) throw new Error(`D-Bus answered ${JSON.stringify(line.slice(0, 100))} instead of ${word}`);
}

/** Returns the reply to the call; collects all descriptors that arrive. */
async function readReply(socket: DescriptorSocket, descriptors: number[]): Promise<Message> {
  let pending: Buffer = Buffer.alloc(0);
  for (;;) {
    const received = await socket.receive();
    descriptors.push(...received.descriptors);
    if (received.data.length === 0) throw new Error('the connection to D-Bus was closed');
    pending = Buffer.concat([pending, received.data]);
    for (let length = messageLength(pending); pending.length >= length; length = messageLength(pending)) {
      const message = unmarshall(pending.subarray(0, length));
      if (message.replySerial === inhibitSerial) return message;
      pending = pending.subarray(length);
    }
    if (pending.length > maxReplyBytes) throw new Error('D-Bus has sent a message that is too long');
  }
}

/** The length of the first message; Infinity while it is not known. */
export function messageLength(bytes: Buffer): number {
  if (bytes.length < fixedHeaderBytes) return Infinity;
  const isLittleEndian = bytes[0] === 'l'.charCodeAt(0);
  const read = (at: number) => (isLittleEndian ? bytes.readUInt32LE(at) : bytes.readUInt32BE(at));
  // The header fields are padded to a multiple of eight bytes.
  const fieldsLength = Math.ceil(read(12) / 8) * 8;
  return fixedHeaderBytes + fieldsLength + read(4);
}
