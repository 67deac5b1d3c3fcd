import assert from 'node:assert/strict';
import { frameMessage } from '../../../../../src/shared/grpc-client/frame.ts';
import { encodeStatusMessage, parseTimeout, unframeMessage } from '../../../../../src/workers/server/grpc/message-frames.ts';
import { table } from '../../../../support/table.ts';

table('a request is one message', (row) => {
  row('a message survives its frame', () => assert.deepEqual(unframeMessage(frameMessage(Buffer.from('abc'))), Buffer.from('abc')));
  row('an empty message', () => assert.deepEqual(unframeMessage(frameMessage(Buffer.alloc(0))), Buffer.alloc(0)));
  const bad: [string, number[], RegExp][] = [
    ['nothing', [], /no message/],
    ['part of a frame', [0, 0, 0, 0], /no message/],
    ['part of a message', [0, 0, 0, 0, 2, 1], /not exactly one/],
    ['two messages', [0, 0, 0, 0, 0, 0, 0, 0, 0, 0], /not exactly one/],
    ['a compressed message', [1, 0, 0, 0, 0], /Decompressor/],
    ['a length of 4 GiB', [0, 255, 255, 255, 255], /not exactly one/],
  ];
  for (const [name, bytes, want] of bad) row(name, () => assert.throws(() => unframeMessage(Buffer.from(bytes)), want));
});

table('the time-out header', (row) => {
  const cases: [unknown, number | null][] = [
    ['5S', 5000],
    ['100m', 100],
    ['2M', 120_000],
    ['1H', 3_600_000],
    ['500u', 0.5],
    ['1n', 1e-6],
    ['99999999H', 99_999_999 * 3_600_000],
    ['999999999S', null],
    ['-1S', null],
    ['S', null],
    [undefined, null],
  ];
  for (const [header, want] of cases) row(String(header), () => assert.equal(parseTimeout(header), want));
});

table('a status message is a header', (row) => {
  row('text stays', () => assert.equal(encodeStatusMessage('pod a~b not found'), 'pod a~b not found'));
  row('others are encoded', () => assert.equal(encodeStatusMessage('50 %\nü😀'), '50 %25%0A%C3%BC%F0%9F%98%80'));
  row('a part of a character', () => assert.equal(encodeStatusMessage('\ud83d'), '%EF%BF%BD'));
  row('a long one is cut', () => assert.equal(encodeStatusMessage('x'.repeat(5000)).length, 1024));
  row('a long one is not cut within a character', () => assert.match(encodeStatusMessage(`x${'😀'.repeat(1000)}`), /%EF%BF%BD$/));
});
