import assert from 'node:assert/strict';
import type { IncomingHttpHeaders } from 'node:http';
import { test } from 'node:test';
import { dataFrame, pingFrame } from '../../../../../src/workers/server/streaming/spdy-frames.ts';
import { createCommandTranslation } from '../../../../../src/workers/server/streaming/translate-command.ts';
import { createPortForwardTranslation } from '../../../../../src/workers/server/streaming/translate-port-forward.ts';
import {
  isCommandWebSocket,
  findHandshakeFault,
  webSocketHandshakeResponse,
  parseTunnelledProtocols,
} from '../../../../../src/workers/server/streaming/websocket-request.ts';
import { closeFrame, opcodes, webSocketFrame } from '../../../../../src/workers/server/streaming/websocket-frames.ts';
import { table } from '../../../../support/table.ts';
import { masked } from '../../../../support/server/websocket-client.ts';

const all = { stdin: true, stdout: true, stderr: true, tty: false };
/** The stream IDs for the options `all`. */
const [error, stdin, stdout, stderr] = [1, 3, 5, 7] as const;
const nothing = Buffer.alloc(0);
const hex = (parts: readonly Buffer[]) => Buffer.concat(parts).toString('hex');
const binary = (text: string) => webSocketFrame(opcodes.binary, Buffer.from(text, 'latin1'));

const fromClient: { name: string; sent: Buffer[]; options?: typeof all; forward?: Buffer[]; reply?: Buffer[]; ended?: boolean }[] = [
  { name: 'input', sent: [masked(2, '\0in')], forward: [dataFrame(stdin, Buffer.from('in'))] },
  { name: 'input as text', sent: [masked(1, '\0in')], forward: [dataFrame(stdin, Buffer.from('in'))] },
  {
    name: 'a message in two frames',
    sent: [masked(2, '\0i', { fin: false }), masked(0, 'n')],
    forward: [dataFrame(stdin, Buffer.from('i')), dataFrame(stdin, Buffer.from('n'))],
  },
  { name: 'the end of stdin', sent: [masked(2, '\xff\0')], forward: [dataFrame(stdin, nothing, true)] },
  {
    name: 'input after the end of stdin',
    sent: [masked(2, '\xff\0'), masked(2, '\xff\0'), masked(2, '\0more')],
    forward: [dataFrame(stdin, nothing, true)],
  },
  { name: 'the end of an unknown channel', sent: [masked(2, '\xff\x07')], reply: [closeFrame(1002)], ended: true },
  { name: 'an end without a channel', sent: [masked(2, '\xff')], reply: [closeFrame(1002)], ended: true },
  { name: 'an end of two channels', sent: [masked(2, '\xff\0\0')], reply: [closeFrame(1002)], ended: true },
  {
    name: 'an end in pieces',
    sent: [masked(2, '\xff', { fin: false }), masked(0, '', { fin: false }), masked(0, '\0')],
    forward: [dataFrame(stdin, nothing, true)],
  },
  {
    name: 'an end without an end',
    sent: [masked(2, '\xff\0', { fin: false }), masked(0, '', { fin: false }), masked(0, '\0', { fin: false })],
    reply: [closeFrame(1002)],
    ended: true,
  },
  { name: 'empty messages', sent: [masked(2, ''), masked(2, '\0')] },
  { name: 'data on output channels', sent: [masked(2, '\x01out'), masked(2, '\x03error'), masked(2, '\x09?')] },
  { name: 'a resize without a terminal', sent: [masked(2, '\x04{"Width":1}')] },
  {
    name: 'a resize',
    options: { ...all, stderr: false, tty: true },
    sent: [masked(2, '\x04{"Width":1}')],
    forward: [dataFrame(7, Buffer.from('{"Width":1}'))],
  },
  { name: 'input without stdin', options: { ...all, stdin: false }, sent: [masked(2, '\0in'), masked(2, '\xff\0')] },
  { name: 'a ping', sent: [masked(9, 'you?')], reply: [webSocketFrame(opcodes.pong, Buffer.from('you?'))] },
  { name: 'a close frame, and nothing after it', sent: [masked(8, ''), masked(2, '\0in')], reply: [closeFrame(1000)], ended: true },
  { name: 'bytes that are not WebSocket frames', sent: [Buffer.from('GET / HTTP/1.1')], reply: [closeFrame(1002)], ended: true },
];
table('messages of a command client are translated to streams', (row) => {
  for (const { name, sent, options = all, forward = [], reply = [], ended = false } of fromClient) {
    row(name, () => {
      const { fromClient: converter } = createCommandTranslation('exec', options);
      const converted = sent.map((bytes) => converter.push(bytes));
      assert.equal(hex(converted.flatMap((one) => one.forward)), hex(forward));
      assert.equal(hex(converted.flatMap((one) => one.reply)), hex(reply));
      assert.equal(converted.at(-1)!.ended, ended);
      assert.equal(converter.end().length, 0);
    });
  }
});

const status = '{"metadata":{},"status":"Failure","reason":"NonZeroExitCode"}';
const lost =
  '{"metadata":{},"status":"Failure","message":"Internal error occurred: the connection to the runtime was lost","reason":"InternalError","details":{"causes":[{"message":"the connection to the runtime was lost"}]},"code":500}';
const fromRuntime: { name: string; sent: Buffer[]; forward?: Buffer[]; reply?: Buffer[]; ended?: boolean; status: string | RegExp }[] = [
  {
    name: 'output on both channels, and the status last',
    sent: [
      dataFrame(error, Buffer.from(status)),
      dataFrame(stdout, Buffer.from('out')),
      dataFrame(error, nothing, true),
      dataFrame(stderr, Buffer.from('err'), true),
      dataFrame(stdout, Buffer.from('put'), true),
    ],
    forward: [binary('\x01out'), binary('\x02err'), binary('\x01put')],
    ended: true,
    status,
  },
  {
    name: 'an end without a status',
    sent: [error, stdout, stderr].map((id) => dataFrame(id, nothing, true)),
    ended: true,
    status: '{"metadata":{},"status":"Success"}',
  },
  { name: 'a ping', sent: [pingFrame(2)], reply: [pingFrame(2)], status: lost },
  { name: 'a status without an end', sent: [dataFrame(error, Buffer.from(status))], status },
  { name: 'bytes that are not SPDY', sent: [Buffer.from('HTTP/1.1 200 OK\r\n')], status: lost },
  {
    name: 'an invalid frame',
    sent: [Buffer.from('8002000100000000', 'hex')],
    ended: true,
    status: /the runtime can not be understood/,
  },
];
table('streams of a command are translated to channels', (row) => {
  for (const { name, sent, forward = [], reply = [], ended = false, status: wanted } of fromRuntime) {
    row(name, () => {
      const { fromRuntime: converter } = createCommandTranslation('exec', all);
      const converted = sent.map((bytes) => converter.push(bytes));
      assert.equal(hex(converted.flatMap((one) => one.forward)), hex(forward));
      assert.equal(hex(converted.flatMap((one) => one.reply)), hex(reply));
      assert.equal(converted.at(-1)!.ended, ended);
      const last = converter.end().toString('latin1');
      assert.ok(last.endsWith(closeFrame(1000).toString('latin1')));
      const lastStatus = last.slice(last.indexOf('\x03') + 1, -4);
      if (typeof wanted === 'string') assert.equal(lastStatus, wanted);
      else assert.match(lastStatus, wanted);
    });
  }
});

table('a client gets an initial message when it is connected', (row) => {
  for (const [name, options, channel] of [
    ['on the stdout channel', all, '\x01'],
    ['on the stderr channel', { ...all, stdout: false }, '\x02'],
    ['on the error channel', { ...all, stdout: false, stderr: false }, '\x03'],
  ] as const)
    row(name, () => assert.equal(hex([createCommandTranslation('attach', options).initialBytes.toClient]), hex([binary(channel)])));
});

test('tunnelled port forward data is not changed', () => {
  const { fromClient: client, fromRuntime: runtime, subprotocol } = createPortForwardTranslation(['portforward.k8s.io']);
  assert.equal(
    hex(client.push(Buffer.concat([masked(2, 'a\0'), masked(2, 'b', { fin: false }), masked(0, 'c')])).forward),
    hex([Buffer.from('a\0bc')]),
  );
  assert.equal(hex(runtime.push(Buffer.from('back')).forward), hex([binary('back')]));
  assert.equal(hex([runtime.end()]), hex([closeFrame(1000)]));
  assert.deepEqual(client.push(masked(1, 'text')), { forward: [], reply: [closeFrame(1002)], ended: true });
  assert.deepEqual([subprotocol('portforward.k8s.io'), subprotocol('')], ['SPDY/3.1+portforward.k8s.io', '']);
});

const webSocket = (protocols: string): IncomingHttpHeaders => ({
  connection: 'keep-alive, Upgrade',
  upgrade: 'WebSocket',
  'sec-websocket-protocol': protocols,
});
table('the subprotocols of a client select the translation', (row) => {
  const cases: { headers: IncomingHttpHeaders; command?: boolean; tunnelled?: string[] }[] = [
    { headers: webSocket('v5.channel.k8s.io'), command: true },
    { headers: webSocket('v4.channel.k8s.io, v5.channel.k8s.io'), command: true },
    { headers: webSocket('v4.channel.k8s.io') },
    { headers: { ...webSocket('v5.channel.k8s.io'), upgrade: 'SPDY/3.1' } },
    {
      headers: webSocket('SPDY/3.1+portforward.k8s.io,SPDY/3.1+v2.portforward.k8s.io'),
      tunnelled: ['portforward.k8s.io', 'v2.portforward.k8s.io'],
    },
    { headers: webSocket('SPDY/3.1+other, portforward.k8s.io') },
    { headers: {} },
  ];
  for (const { headers, command = false, tunnelled = [] } of cases)
    row(JSON.stringify(headers), () =>
      assert.deepEqual([isCommandWebSocket(headers), parseTunnelledProtocols(headers)], [command, tunnelled]),
    );
});

test('an invalid handshake is refused, and a valid one is answered', () => {
  const key = 'dGhlIHNhbXBsZSBub25jZQ==';
  const good = { 'sec-websocket-version': '13', 'sec-websocket-key': key };
  assert.equal(findHandshakeFault('GET', good), null);
  assert.match(findHandshakeFault('POST', good)!, /GET/);
  assert.match(findHandshakeFault('GET', { ...good, 'sec-websocket-version': '8' })!, /13/);
  assert.match(findHandshakeFault('GET', { ...good, 'sec-websocket-key': 'a\r\nb' })!, /16 bytes/);
  assert.equal(
    webSocketHandshakeResponse(key, 'v5.channel.k8s.io'),
    'HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: v5.channel.k8s.io\r\n\r\n',
  );
});
