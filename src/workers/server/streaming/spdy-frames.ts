/**
 * The part of SPDY/3.1 that a client of a runtime's streaming server needs: opening streams, and data in both directions. The server's
 * header blocks are not needed and not decompressed. Pure.
 */

const version = 3;
const controlBit = 0x8000;
const headBytes = 8;
const finFlag = 1;
const types = { synStream: 1, synReply: 2, rstStream: 3, ping: 6 } as const;
/** Size limit for control frames. Header frames are short; all others have a fixed size. */
const maxControlBytes = 64 * 1024;
const maxDataBytes = 2 ** 24 - 1;

export type SpdyEvent =
  /** `end`: the server has ended or reset the stream. The data may be empty. */
  | { readonly type: 'data'; readonly stream: number; readonly data: Buffer; readonly end: boolean }
  | { readonly type: 'ping'; readonly id: number };

export class SpdyError extends Error {
  override readonly name = 'SpdyError';
}

/** Encodes SYN_STREAM frames for streams 1, 3, 5, … Header names must be lowercase. */
export function openStreams(streams: readonly Readonly<Record<string, string>>[]): Buffer {
  return Buffer.concat(
    streams.map((headers, index) => {
      const block = storedBlock(headerBlock(headers), index === 0);
      // The stream ID, the associated stream's ID (0: none), priority and slot (0).
      const body = Buffer.alloc(10);
      body.writeUInt32BE(streamID(index));
      return control(types.synStream, Buffer.concat([body, block]));
    }),
  );
}

export function streamID(index: number): number {
  return 2 * index + 1;
}

/** The head is the stream ID (four bytes), the flags (one byte) and the length (three bytes). */
export function dataFrame(stream: number, data: Buffer, end = false): Buffer {
  if (data.length > maxDataBytes) throw new SpdyError(`${data.length} bytes are too many for a frame`);
  const head = Buffer.alloc(headBytes);
  head.writeUInt32BE(stream);
  head.writeUInt32BE(data.length, 4);
  if (end) head[4] = finFlag;
  return Buffer.concat([head, data]);
}

/** A ping is answered with the same frame. */
export function pingFrame(id: number): Buffer {
  const body = Buffer.alloc(4);
  body.writeUInt32BE(id);
  return control(types.ping, body);
}

/** The head is the version with the control bit, the type (two bytes each), the flags (one byte) and the length (three bytes). */
function control(type: number, body: Buffer): Buffer {
  const head = Buffer.alloc(headBytes);
  head.writeUInt16BE(controlBit | version);
  head.writeUInt16BE(type, 2);
  head.writeUInt32BE(body.length, 4);
  return Buffer.concat([head, body]);
}

/** The number of headers, then each name and value with its length before it. */
function headerBlock(headers: Readonly<Record<string, string>>): Buffer {
  const entries = Object.entries(headers);
  const number = (value: number) => {
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32BE(value);
    return bytes;
  };
  const text = (value: string) => [number(Buffer.byteLength(value)), Buffer.from(value)];
  return Buffer.concat([number(entries.length), ...entries.flatMap(([name, value]) => [...text(name), ...text(value)])]);
}

/**
 * All header blocks of a connection form one zlib stream, which may store them uncompressed. A stored block is a zero byte, the length, the complement of the
 * length, and the bytes (RFC 1951, 3.2.4). The empty block after each one flushes the reader's decompressor. 78 01 is the head of a zlib stream.
 */
function storedBlock(bytes: Buffer, isFirst: boolean): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt16LE(bytes.length, 1);
  head.writeUInt16LE(~bytes.length & 0xffff, 3);
  const zlibHeader = Buffer.from(isFirst ? [0x78, 0x01] : []);
  return Buffer.concat([zlibHeader, head, bytes, Buffer.from([0, 0, 0, 0xff, 0xff])]);
}

interface Frame {
  /** Null for a data frame. */
  readonly type: number | null;
  /** Set for a data frame. */
  readonly stream: number;
  readonly fin: boolean;
  bytesLeft: number;
}

export class SpdyReader {
  #incomplete = Buffer.alloc(0);
  #frame: Frame | null = null;

  /** Returns data in the pieces in which it arrives. Throws SpdyError for bytes that are not SPDY/3.1. */
  push(chunk: Buffer): SpdyEvent[] {
    const events: SpdyEvent[] = [];
    let unparsed = this.#incomplete.length === 0 ? chunk : Buffer.concat([this.#incomplete, chunk]);
    for (;;) {
      if (this.#frame === null) {
        if (unparsed.length < headBytes) break;
        this.#frame = readHead(unparsed);
        unparsed = unparsed.subarray(headBytes);
      }
      const frame = this.#frame;
      const bytes = unparsed.subarray(0, frame.bytesLeft);
      const isWhole = bytes.length === frame.bytesLeft;
      if (!isWhole && (frame.type !== null || bytes.length === 0)) break;
      unparsed = unparsed.subarray(bytes.length);
      frame.bytesLeft -= bytes.length;
      if (frame.type === null) events.push({ type: 'data', stream: frame.stream, data: bytes, end: frame.fin && isWhole });
      else events.push(...readControl(frame, bytes));
      if (isWhole) this.#frame = null;
    }
    this.#incomplete = Buffer.from(unparsed);
    return events;
  }
}

function readHead(bytes: Buffer): Frame {
  const firstWord = bytes.readUInt32BE();
  const fin = (bytes[4]! & finFlag) !== 0;
  const bytesLeft = bytes.readUIntBE(5, 3);
  if (firstWord >>> 31 === 0) return { type: null, stream: firstWord, fin, bytesLeft };
  if (bytes.readUInt16BE() !== (controlBit | version)) throw new SpdyError('a frame is not SPDY/3.1');
  if (bytesLeft > maxControlBytes) throw new SpdyError(`a control frame has ${bytesLeft} bytes`);
  return { type: bytes.readUInt16BE(2), stream: 0, fin, bytesLeft };
}

/** RST_STREAM and SYN_REPLY start with the stream ID, PING with its ID. Other control frames are ignored. */
function readControl({ type, fin }: Frame, body: Buffer): SpdyEvent[] {
  if (type !== types.rstStream && type !== types.synReply && type !== types.ping) return [];
  if (body.length < 4) throw new SpdyError('a control frame is too short');
  const id = body.readUInt32BE();
  if (type === types.ping) return [{ type: 'ping', id }];
  return type === types.rstStream || fin ? [{ type: 'data', stream: id & 0x7fffffff, data: Buffer.alloc(0), end: true }] : [];
}
