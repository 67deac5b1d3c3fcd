/** Builds a TLS 1.2 ClientHello by hand, to offer features that client libraries no longer support. */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';

export interface Hello {
  readonly compressions: readonly number[];
  /** Extension numbers to offer. */
  readonly extensions: Readonly<Record<string, number>>;
}

const u16 = (value: number) => Buffer.from([value >> 8, value & 0xff]);
const sized8 = (content: Buffer) => Buffer.concat([Buffer.from([content.length]), content]);
const sized16 = (content: Buffer) => Buffer.concat([u16(content.length), content]);
const extension = (type: number, content: Buffer) => Buffer.concat([u16(type), sized16(content)]);

export function clientHello({ compressions, extensions }: Hello): Buffer {
  const suites = [0xc02b, 0xc02f].map(u16); // ECDHE with AES-128-GCM, for ECDSA and RSA.
  const known = [
    extension(10, sized16(u16(23))), // P-256
    extension(11, sized8(Buffer.from([0]))), // uncompressed points
    extension(13, sized16(Buffer.concat([u16(0x0403), u16(0x0804)]))), // ECDSA and RSA-PSS with SHA-256
  ];
  // The heartbeat extension has a mode byte; an empty session ticket extension requests a ticket.
  const more = Object.values(extensions).map((type) => extension(type, type === 15 ? Buffer.from([1]) : Buffer.alloc(0)));
  const body = Buffer.concat([
    u16(0x0303),
    randomBytes(32),
    sized8(Buffer.alloc(0)),
    sized16(Buffer.concat(suites)),
    sized8(Buffer.from(compressions)),
    sized16(Buffer.concat([...known, ...more])),
  ]);
  const handshake = Buffer.concat([Buffer.from([1, 0]), u16(body.length), body]);
  return Buffer.concat([Buffer.from([22, 3, 1]), sized16(handshake)]);
}

/** Returns the parameters that the server selected. */
export async function serverHello(port: number, hello: Buffer): Promise<{ compression: number; extensions: number[] }> {
  const socket = connect(port, '127.0.0.1');
  socket.write(hello);
  let bytes = Buffer.alloc(0);
  while (bytes.length < 5 || bytes.length < 5 + bytes.readUInt16BE(3)) {
    const [more] = (await once(socket, 'data')) as [Buffer];
    bytes = Buffer.concat([bytes, more]);
  }
  socket.destroy();
  // Skips the record header, the message header, the version and 32 random bytes.
  let at = 5 + 4 + 2 + 32;
  at += 1 + bytes[at]! + 2;
  const compression = bytes[at]!;
  const end = at + 3 + bytes.readUInt16BE(at + 1);
  const extensions: number[] = [];
  for (at += 3; at < end; at += 4 + bytes.readUInt16BE(at + 2)) extensions.push(bytes.readUInt16BE(at));
  return { compression, extensions };
}
