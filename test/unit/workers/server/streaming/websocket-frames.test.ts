import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  acceptKey,
  closeFrame,
  opcodes,
  webSocketFrame,
  WebSocketReader,
  type WebSocketPiece,
} from '../../../../../src/workers/server/streaming/websocket-frames.ts';
import { masked } from '../../../../support/server/websocket-client.ts';
import { table } from '../../../../support/table.ts';

/** Decodes the messages of bytes that arrive in chunks. */
function read(bytes: Buffer, chunkBytes: number): { opcode: number; text: string }[] {
  const reader = new WebSocketReader();
  const messages: { opcode: number; text: string }[] = [];
  const take = ({ opcode, data, first }: WebSocketPiece) => {
    if (first) messages.push({ opcode, text: '' });
    messages.at(-1)!.text += data.toString('latin1');
  };
  for (let at = 0; at < bytes.length; at += chunkBytes) reader.push(bytes.subarray(at, at + chunkBytes)).forEach(take);
  return messages;
}

test('the accept key is that of the RFC', () => {
  assert.equal(acceptKey('dGhlIHNhbXBsZSBub25jZQ=='), 's3pPLMBiTxaQ9kYGzzhZRbK+xOo=');
});

table('frames have the shortest of three lengths', (row) => {
  for (const [length, head] of [
    [0, '8200'],
    [125, '827d'],
    [126, '827e007e'],
    [65_535, '827effff'],
    [65_536, '827f0000000000010000'],
  ] as const) {
    row(`${length} bytes`, () => {
      const frame = webSocketFrame(opcodes.binary, Buffer.alloc(length));
      assert.equal(frame.subarray(0, head.length / 2).toString('hex'), head);
      assert.equal(frame.length, head.length / 2 + length);
    });
  }
});

test('a close frame has its code', () => {
  assert.equal(closeFrame(1000).toString('hex'), '880203e8');
});

const long = 'x'.repeat(70_000);
const stream = Buffer.concat([
  masked(opcodes.binary, 'one'),
  masked(opcodes.text, ''),
  masked(opcodes.binary, 'fr', { fin: false }),
  masked(opcodes.ping, 'there?'),
  masked(opcodes.continuation, '', { fin: false }),
  masked(opcodes.continuation, 'ame'),
  masked(opcodes.binary, 'y'.repeat(200)),
  masked(opcodes.binary, long),
  masked(opcodes.close, ''),
]);
table('messages are decoded for any chunk size', (row) => {
  for (const chunkBytes of [1, 3, 1000, stream.length]) {
    row(`in chunks of ${chunkBytes}`, () => {
      const messages = read(stream, chunkBytes);
      // A ping may come in the middle of a message.
      const pings = messages.filter(({ opcode }) => opcode === opcodes.ping);
      assert.deepEqual(
        pings.map(({ text }) => text.slice(0, 6)),
        ['there?'],
      );
      assert.deepEqual(
        messages.map(({ text }) => text.replace(long, 'long')),
        ['one', '', 'fr', 'there?ame', 'y'.repeat(200), 'long', ''],
      );
    });
  }
});

table('protocol violations of a client are errors', (row) => {
  const wrong: { name: string; bytes: Buffer }[] = [
    { name: 'a frame without a mask', bytes: webSocketFrame(opcodes.binary, Buffer.from('a')) },
    { name: 'a reserved bit', bytes: Buffer.from([0xc2, 0x80, 0, 0, 0, 0]) },
    { name: 'an unknown message', bytes: masked(3, 'a') },
    { name: 'an unknown control frame', bytes: masked(11, 'a') },
    { name: 'a control frame in two', bytes: masked(opcodes.ping, 'a', { fin: false }) },
    { name: 'a long control frame', bytes: masked(opcodes.ping, 'a'.repeat(126)) },
    { name: 'a continuation without a message', bytes: masked(opcodes.continuation, 'a') },
    { name: 'a message in a message', bytes: Buffer.concat([masked(opcodes.text, 'a', { fin: false }), masked(opcodes.text, 'b')]) },
    { name: 'a length above the maximum', bytes: Buffer.from([0x82, 0xff, ...Array<number>(8).fill(0xff), 0, 0, 0, 0]) },
  ];
  for (const { name, bytes } of wrong) row(name, () => assert.throws(() => read(bytes, bytes.length), { name: 'WebSocketError' }));
});
