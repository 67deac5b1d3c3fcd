/** The frame of a message (PROTOCOL-HTTP2.md of grpc): a flag, and its length in four bytes, before the message. */
export const prefixBytes = 5;

export function frameMessage(message: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(prefixBytes + message.length);
  // The flag 0: not compressed.
  frame.writeUInt8(0, 0);
  frame.writeUInt32BE(message.length, 1);
  frame.set(message, prefixBytes);
  return frame;
}
