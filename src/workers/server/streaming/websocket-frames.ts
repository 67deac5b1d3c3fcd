/**
 * The server side of WebSocket (RFC 6455): decodes masked client frames and encodes server frames. Messages are not buffered: their data is
 * returned in the pieces in which it arrives. Pure.
 */
import { createHash } from 'node:crypto';

export const opcodes = { continuation: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

/** Part of a message, or a whole control frame. */
export interface WebSocketPiece {
  readonly opcode: number;
  readonly data: Buffer;
  /** The piece is the start of a message. */
  readonly first: boolean;
  /** The piece is the end of a message. */
  readonly last: boolean;
}

export class WebSocketError extends Error {
  override readonly name = 'WebSocketError';
}

/** RFC 6455, 1.3. */
const acceptSuffix = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** RFC 6455, 5.5. */
const maxControlBytes = 125;
const finBit = 0x80;
const reservedBits = 0x70;
const maskBit = 0x80;
/** Values of the 7-bit length that announce a length of 16 or 64 bits after it. */
const [length16, length64] = [126, 127];

export function acceptKey(key: string): string {
  return createHash('sha1')
    .update(key + acceptSuffix)
    .digest('base64');
}

/** Encodes a complete message in one frame. */
export function webSocketFrame(opcode: number, ...parts: readonly Buffer[]): Buffer {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const head = Buffer.alloc(length < length16 ? 2 : length < 2 ** 16 ? 4 : 10);
  head[0] = finBit | opcode;
  if (head.length === 2) {
    head[1] = length;
  } else if (head.length === 4) {
    head[1] = length16;
    head.writeUInt16BE(length, 2);
  } else {
    head[1] = length64;
    head.writeBigUInt64BE(BigInt(length), 2);
  }
  return Buffer.concat([head, ...parts]);
}

export function closeFrame(code: number): Buffer {
  const body = Buffer.alloc(2);
  body.writeUInt16BE(code);
  return webSocketFrame(opcodes.close, body);
}

interface Frame {
  readonly opcode: number;
  readonly fin: boolean;
  readonly mask: Buffer;
  bytesLeft: number;
  bytesRead: number;
  /** The frame is the first of its message. */
  readonly first: boolean;
}

export class WebSocketReader {
  #head = Buffer.alloc(0);
  #frame: Frame | null = null;
  #control: Buffer[] = [];
  /** Opcode of the current message; null between messages. */
  #messageOpcode: number | null = null;

  /** Throws WebSocketError for a protocol violation. The reader can not be used afterwards. */
  push(chunk: Buffer): WebSocketPiece[] {
    const pieces: WebSocketPiece[] = [];
    let unparsed = chunk;
    while (unparsed.length > 0) {
      if (this.#frame === null) {
        const bytes = this.#head.length === 0 ? unparsed : Buffer.concat([this.#head, unparsed]);
        const length = headLength(bytes);
        if (length === null || bytes.length < length) {
          // At most 14 bytes, the maximum length of a frame's head.
          this.#head = Buffer.from(bytes);
          break;
        }
        this.#head = Buffer.alloc(0);
        this.#frame = this.#begin(bytes, length);
        unparsed = bytes.subarray(length);
      }
      const frame = this.#frame;
      // Only the head has arrived.
      if (unparsed.length === 0 && frame.bytesLeft > 0) break;
      const data = unmasked(unparsed.subarray(0, frame.bytesLeft), frame);
      unparsed = unparsed.subarray(data.length);
      const isFirst = frame.bytesRead === 0;
      frame.bytesLeft -= data.length;
      frame.bytesRead += data.length;
      const piece = this.#piece(frame, data, isFirst);
      if (piece) pieces.push(piece);
      if (frame.bytesLeft === 0) this.#frame = null;
    }
    return pieces;
  }

  #begin(bytes: Buffer, length: number): Frame {
    const [firstByte = 0, secondByte = 0] = bytes;
    const opcode = firstByte & 0x0f;
    const fin = (firstByte & finBit) !== 0;
    const bytesLeft = bodyLength(bytes);
    if ((firstByte & reservedBits) !== 0) throw new WebSocketError('reserved bits are set');
    if ((secondByte & maskBit) === 0) throw new WebSocketError('a frame of a client is not masked');
    const mask = bytes.subarray(length - 4, length);
    if (opcode >= opcodes.close) {
      if (!fin || bytesLeft > maxControlBytes || opcode > opcodes.pong) throw new WebSocketError('a control frame is broken');
      return { opcode, fin, mask, bytesLeft, bytesRead: 0, first: true };
    }
    const first = opcode !== opcodes.continuation;
    if (opcode > opcodes.binary || first !== (this.#messageOpcode === null)) throw new WebSocketError('frames are out of order');
    this.#messageOpcode = first ? opcode : this.#messageOpcode;
    return { opcode: this.#messageOpcode!, fin, mask, bytesLeft, bytesRead: 0, first };
  }

  #piece({ opcode, fin, bytesLeft, first }: Frame, data: Buffer, isFirst: boolean): WebSocketPiece | null {
    if (opcode >= opcodes.close) {
      this.#control.push(data);
      if (bytesLeft > 0) return null;
      const controlPayload = Buffer.concat(this.#control);
      this.#control = [];
      return { opcode, data: controlPayload, first: true, last: true };
    }
    const last = fin && bytesLeft === 0;
    if (last) this.#messageOpcode = null;
    return { opcode, data, first: first && isFirst, last };
  }
}

/** Null when the byte with the length has not arrived. */
function headLength(bytes: Buffer): number | null {
  const [, second] = bytes;
  if (second === undefined) return null;
  const lengthField = second & ~maskBit;
  const lengthBytes = lengthField === length64 ? 8 : lengthField === length16 ? 2 : 0;
  return 2 + lengthBytes + ((second & maskBit) === 0 ? 0 : 4);
}

function bodyLength(bytes: Buffer): number {
  const lengthField = bytes[1]! & ~maskBit;
  if (lengthField === length16) return bytes.readUInt16BE(2);
  if (lengthField !== length64) return lengthField;
  const length = bytes.readBigUInt64BE(2);
  if (length > BigInt(Number.MAX_SAFE_INTEGER)) throw new WebSocketError('a frame is too long');
  return Number(length);
}

function unmasked(masked: Buffer, { mask, bytesRead }: Frame): Buffer {
  const data = Buffer.allocUnsafe(masked.length);
  for (let index = 0; index < masked.length; index += 1) data[index] = masked[index]! ^ mask[(bytesRead + index) & 3]!;
  return data;
}
