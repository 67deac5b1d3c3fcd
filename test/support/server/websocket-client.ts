/** Encodes frames of a WebSocket client. */
import { webSocketFrame } from '../../../src/workers/server/streaming/websocket-frames.ts';

/** Masks the frame with a key that changes every byte, so that missing unmasking is detected. */
export function masked(opcode: number, body: string | Buffer, { fin = true }: { readonly fin?: boolean } = {}): Buffer {
  const data = Buffer.from(typeof body === 'string' ? Buffer.from(body, 'latin1') : body);
  const plain = webSocketFrame(opcode, data);
  const head = Buffer.from(plain.subarray(0, plain.length - data.length));
  if (!fin) head[0]! &= 0x7f;
  head[1]! |= 0x80;
  const key = Buffer.from([0x11, 0xa2, 0x5c, 0xf0]);
  return Buffer.concat([head, key, data.map((byte, at) => byte ^ key[at & 3]!)]);
}
