import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, inflateSync } from 'node:zlib';
import { dataFrame, openStreams, pingFrame, SpdyReader, type SpdyEvent } from '../../../../../src/workers/server/streaming/spdy-frames.ts';
import { table } from '../../../../support/table.ts';

test('streams are opened with headers in one zlib stream', () => {
  const frames = openStreams([{ streamtype: 'error' }, { streamtype: 'stdin', port: '80' }]);
  const first = 8 + frames.readUIntBE(5, 3);
  const [one, two] = [frames.subarray(0, first), frames.subarray(first)];
  assert.equal(two.length, 8 + two.readUIntBE(5, 3));
  assert.equal(one.subarray(0, 4).toString('hex'), '80030001');
  assert.deepEqual([one.readUInt32BE(8), two.readUInt32BE(8)], [1, 3]);
  const block = inflateSync(Buffer.concat([one.subarray(18), two.subarray(18)]), { finishFlush: constants.Z_SYNC_FLUSH });
  assert.equal(
    block.toString('latin1'),
    '\0\0\0\x01\0\0\0\nstreamtype\0\0\0\x05error\0\0\0\x02\0\0\0\nstreamtype\0\0\0\x05stdin\0\0\0\x04port\0\0\0\x0280',
  );
});

test('data and pings are encoded as frames', () => {
  assert.equal(dataFrame(3, Buffer.from('ab')).toString('hex'), '00000003000000026162');
  assert.equal(dataFrame(3, Buffer.alloc(0), true).toString('hex'), '0000000301000000');
  assert.equal(pingFrame(2).toString('hex'), '800300060000000400000002');
});

const bytes = Buffer.concat([
  // SYN_REPLY with headers, which are ignored.
  Buffer.from('800300020000000800000001deadbeef', 'hex'),
  dataFrame(3, Buffer.from('hello')),
  pingFrame(2),
  // SETTINGS.
  Buffer.from('800300040000000400000000', 'hex'),
  dataFrame(5, Buffer.from('bye'), true),
  dataFrame(3, Buffer.alloc(0), true),
  // RST_STREAM.
  Buffer.from('80030003000000080000000700000005', 'hex'),
  // GOAWAY.
  Buffer.from('80030007000000080000000000000000', 'hex'),
]);
table('server frames are decoded for any chunk size', (row) => {
  for (const chunkBytes of [1, 7, bytes.length]) {
    row(`in chunks of ${chunkBytes}`, () => {
      const reader = new SpdyReader();
      const events: SpdyEvent[] = [];
      for (let at = 0; at < bytes.length; at += chunkBytes) events.push(...reader.push(bytes.subarray(at, at + chunkBytes)));
      const received = (stream: number) =>
        events.map((event) => (event.type === 'data' && event.stream === stream ? event.data.toString() : '')).join('');
      assert.deepEqual([received(3), received(5)], ['hello', 'bye']);
      assert.deepEqual(
        events
          .filter((event) => event.type === 'ping' || event.end)
          .map((event) => (event.type === 'ping' ? `ping ${event.id}` : event.stream)),
        ['ping 2', 5, 3, 7],
      );
    });
  }
});

table('bytes that are not SPDY/3.1 are an error', (row) => {
  for (const [name, hex] of [
    ['another version', '8002000100000000'],
    ['a control frame without an end', '8003000100ffffff'],
    ['a reset without a stream', '8003000300000000'],
  ] as const)
    row(name, () => assert.throws(() => new SpdyReader().push(Buffer.from(hex, 'hex')), { name: 'SpdyError' }));
});
