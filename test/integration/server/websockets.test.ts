import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'undici';
import { dataFrame, pingFrame, SpdyReader } from '../../../src/workers/server/streaming/spdy-frames.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aStreamingServer } from '../../support/server/streaming-server.ts';
import { masked } from '../../support/server/websocket-client.ts';

const exec = '/exec/default/web/app?command=cat&input=1&output=1&error=1';
const [error, stdin, stdout, stderr] = [1, 3, 5, 7] as const;
const nothing = Buffer.alloc(0);
const head = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
const status = '{"metadata":{},"status":"Failure","reason":"NonZeroExitCode"}';

/** Connects a command client that records the received data by channel. */
async function connect(url: string) {
  const socket = new WebSocket(`${url.replace('http:', 'ws:')}${exec}`, ['v5.channel.k8s.io']);
  socket.binaryType = 'arraybuffer';
  const received = new Map<number, Buffer[]>();
  const state = { closed: null as number | null, failed: false };
  socket.addEventListener('message', ({ data }) => {
    const bytes = Buffer.from(data as ArrayBuffer);
    keep(received, bytes[0]!, bytes.subarray(1));
  });
  socket.addEventListener('close', ({ code }) => (state.closed = code));
  socket.addEventListener('error', () => (state.failed = true));
  after(() => socket.close());
  await waitUntil('the connection', () => socket.readyState === 1 || state.failed);
  return { socket, state, textOf: (channel: number) => textOf(received, channel) };
}

function keep(received: Map<number, Buffer[]>, from: number, bytes: Buffer): void {
  received.set(from, [...(received.get(from) ?? []), bytes]);
}
function textOf(received: ReadonlyMap<number, readonly Buffer[]>, from: number): string {
  return Buffer.concat(received.get(from) ?? []).toString();
}

/** Records the data and the end of each stream on the runtime's side. */
function recordStreams(socket: Socket) {
  const reader = new SpdyReader();
  const data = new Map<number, Buffer[]>();
  const ended = new Set<number>();
  let pings = 0;
  socket.on('data', (chunk: Buffer) => {
    for (const event of reader.push(chunk)) {
      if (event.type === 'ping') {
        pings += 1;
        continue;
      }
      keep(data, event.stream, event.data);
      if (event.end) ended.add(event.stream);
    }
  });
  return { textOf: (stream: number) => textOf(data, stream), ended, pings: () => pings };
}

test('the streams of a command are translated to channels, with the end of stdin and the status last', async () => {
  const runtimes: Socket[] = [];
  const { url, requests, calls } = await aStreamingServer({ onStream: (socket) => void runtimes.push(socket) });
  const { socket, state, textOf } = await connect(url);
  assert.equal(socket.protocol, 'v5.channel.k8s.io');
  const [runtime] = runtimes;
  const received = recordStreams(runtime!);
  const [{ method, headers }] = requests as [(typeof requests)[0]];
  assert.deepEqual(
    [method, headers.upgrade, headers['x-stream-protocol-version'], headers['sec-websocket-key'], calls.length],
    ['POST', 'SPDY/3.1', 'v4.channel.k8s.io', undefined, 1],
  );
  socket.send(Buffer.from('\0in'));
  socket.send(Buffer.from([255, 0]));
  await waitUntil('the input', () => received.textOf(stdin) === 'in' && received.ended.has(stdin));
  runtime!.write(Buffer.concat([dataFrame(stdout, Buffer.from('out')), pingFrame(2), dataFrame(stderr, Buffer.from('err'))]));
  await waitUntil('the output', () => textOf(1) === 'out' && textOf(2) === 'err' && received.pings() === 1);
  runtime!.end(Buffer.concat([error, stdout, stderr].map((id) => dataFrame(id, id === error ? Buffer.from(status) : nothing, true))));
  await waitUntil('the end', () => state.closed !== null);
  assert.deepEqual([state.closed, textOf(3)], [1000, status]);
});

test('large data is translated completely with backpressure in both directions', async () => {
  const runtimes: Socket[] = [];
  const { url } = await aStreamingServer({ onStream: (socket) => void runtimes.push(socket) });
  const { socket, state, textOf } = await connect(url);
  const runtime = runtimes[0]!;
  const sent = Buffer.alloc(6_000_000, 'abcdefghijk');
  // The runtime does not read for a while, so the client's data waits at the client.
  for (let at = 0; at < sent.length; at += 100_000) socket.send(Buffer.concat([Buffer.from([0]), sent.subarray(at, at + 100_000)]));
  socket.send(Buffer.from([255, 0]));
  await sleep(200);
  const input = recordStreams(runtime);
  await waitUntil('all of the input', () => input.ended.has(stdin));
  assert.ok(input.textOf(stdin) === sent.toString());
  for (let at = 0; at < sent.length; at += 70_000) runtime.write(dataFrame(stdout, sent.subarray(at, at + 70_000)));
  runtime.end(dataFrame(error, Buffer.from(status), true));
  await waitUntil('the end', () => state.closed !== null);
  assert.ok(textOf(1) === sent.toString());
  assert.equal(textOf(3), status);
});

test('a lost runtime connection is a failure status, and a refused upgrade is an HTTP error', async () => {
  const broken = await aStreamingServer({ onStream: (socket) => void setTimeout(() => socket.destroy(), 50) });
  const { state, textOf } = await connect(broken.url);
  await waitUntil('the end', () => state.closed !== null);
  assert.match(textOf(3), /"status":"Failure","message":"Internal error occurred: the connection to the runtime was lost"/);
  const other = await aStreamingServer({
    onRequest: (_, socket) => void socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'),
  });
  const refused = other.open(exec, [...head, 'Sec-WebSocket-Protocol: v5.channel.k8s.io'], 'GET');
  await waitUntil('the answer', () => refused.state.ended);
  assert.match(refused.state.text, /^HTTP\/1\.1 500 [^]*unable to upgrade: missing upgrade headers in response$/);
  const noKey = other.open(exec, [...head.slice(0, 3), 'Sec-WebSocket-Protocol: v5.channel.k8s.io'], 'GET');
  await waitUntil('the answer', () => noKey.state.ended);
  assert.match(noKey.state.text, /^HTTP\/1\.1 400 [^]*the key of a WebSocket has 16 bytes\n$/);
});

test('a client that disconnects, with or without a close frame, closes the connection to the runtime', async () => {
  const onStream = (socket: Socket) => void recordStreams(socket.on('end', () => socket.end()));
  const { url, open, sockets, underWay } = await aStreamingServer({ onStream });
  const { socket, state } = await connect(url);
  socket.close();
  await waitUntil('the end', () => state.closed === 1000 && underWay() === 0);
  const silent = open(exec, [...head, 'Sec-WebSocket-Protocol: v5.channel.k8s.io'], 'GET');
  await waitUntil('the answer', () => silent.state.text.startsWith('HTTP/1.1 101 '));
  silent.socket.destroy();
  await waitUntil('the end', () => sockets.size === 0);
  const hostile = open(exec, [...head, 'Sec-WebSocket-Protocol: v5.channel.k8s.io'], 'GET');
  await waitUntil('the answer', () => hostile.state.text.startsWith('HTTP/1.1 101 '));
  hostile.socket.write('no frame at all');
  await waitUntil('the close frame', () => hostile.state.text.includes('\x88\x02\x03\xea'));
  hostile.socket.end();
  await waitUntil('the end', () => sockets.size === 0);
});

test('pings of a client that reads nothing are not answered without limit', async () => {
  const { open } = await aStreamingServer();
  const { socket, state } = open(exec, [...head, 'Sec-WebSocket-Protocol: v5.channel.k8s.io'], 'GET');
  await waitUntil('the answer', () => state.text.startsWith('HTTP/1.1 101 '));
  socket.pause();
  const pings = Buffer.concat(Array.from({ length: 1000 }, () => masked(9, 'x'.repeat(120))));
  const batches = 300;
  for (let batch = 0; batch < batches; batch += 1) if (!socket.write(pings)) await once(socket, 'drain');
  // Only the data in the kernel's buffers arrives.
  socket.resume();
  for (let before = -1; before < state.bytes; await sleep(200)) before = state.bytes;
  assert.ok(state.bytes < (batches * pings.length) / 2, `${state.bytes} bytes came back`);
  socket.destroy();
});

test('the last output of a runtime arrives, also when the command has not read all of its input', async () => {
  const output = 3_000_000;
  const { open } = await aStreamingServer({ onStream: (runtime) => void runtime.end(Buffer.alloc(output, 'o')) });
  const { socket, state } = open(exec);
  socket.pause();
  socket.write(Buffer.alloc(10_000_000, 'i'));
  await sleep(200);
  socket.resume();
  await waitUntil('the end', () => state.ended);
  assert.equal(state.bytes - state.text.indexOf('\r\n\r\n') - 4, output);
  socket.destroy();
});

test('the SPDY data of a port forward is tunnelled through a WebSocket unchanged', async () => {
  const { open, requests, calls } = await aStreamingServer({
    onRequest: (request, socket) => {
      const protocol = String(request.headers['x-stream-protocol-version']);
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream-Protocol-Version: ${protocol}\r\n\r\n`,
      );
      socket.pipe(socket);
    },
  });
  const { socket, state } = open('/portForward/default/web', [...head, 'Sec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io'], 'GET');
  await waitUntil('the answer', () => state.text.includes('\r\nSec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io\r\n\r\n'));
  assert.equal(requests[0]!.headers['x-stream-protocol-version'], 'portforward.k8s.io');
  assert.deepEqual(calls[0]!.request, { podSandboxId: 's', port: [] });
  socket.write(Buffer.concat([masked(2, 'there and', { fin: false }), masked(0, ' back')]));
  await waitUntil('the echo', () => state.text.split('\r\n\r\n')[1]?.replaceAll(/\x82./gs, '') === 'there and back');
  socket.write(masked(8, Buffer.from([3, 232])));
  await waitUntil('the close frame', () => state.text.endsWith('\x88\x02\x03\xe8') && state.ended);
});
