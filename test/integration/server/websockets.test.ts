import assert from 'node:assert/strict';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'undici';
import { dataFrame, pingFrame, SpdyReader } from '../../../src/workers/server/streaming/spdy-frames.ts';
import { aStreamingServer } from '../../support/streaming-server.ts';
import { masked } from '../../support/websocket-client.ts';

const exec = '/exec/default/web/app?command=cat&input=1&output=1&error=1';
const [error, stdin, stdout, stderr] = [1, 3, 5, 7] as const;
const nothing = Buffer.alloc(0);
const head = ['Connection: Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=='];
const status = '{"metadata":{},"status":"Failure","reason":"NonZeroExitCode"}';

async function until(what: string, check: () => boolean): Promise<void> {
  const deadline = Date.now() + 5_000;
  while (!check()) {
    if (Date.now() > deadline) assert.fail(`not within 5 s: ${what}`);
    await sleep(5);
  }
}

/** A client of a command that keeps what it hears, by channel. */
async function connect(url: string) {
  const socket = new WebSocket(`${url.replace('http:', 'ws:')}${exec}`, ['v5.channel.k8s.io']);
  socket.binaryType = 'arraybuffer';
  const heard = new Map<number, Buffer[]>();
  const state = { closed: null as number | null, failed: false };
  socket.addEventListener('message', ({ data }) => {
    const bytes = Buffer.from(data as ArrayBuffer);
    keep(heard, bytes[0]!, bytes.subarray(1));
  });
  socket.addEventListener('close', ({ code }) => (state.closed = code));
  socket.addEventListener('error', () => (state.failed = true));
  after(() => socket.close());
  await until('the connection', () => socket.readyState === 1 || state.failed);
  return { socket, state, textOf: (channel: number) => textOf(heard, channel) };
}

function keep(heard: Map<number, Buffer[]>, from: number, bytes: Buffer): void {
  heard.set(from, [...(heard.get(from) ?? []), bytes]);
}
function textOf(heard: ReadonlyMap<number, readonly Buffer[]>, from: number): string {
  return Buffer.concat(heard.get(from) ?? []).toString();
}

/** The runtime's side: what is said on each stream, and by which streams it was ended. */
function reads(socket: Socket) {
  const reader = new SpdyReader();
  const said = new Map<number, Buffer[]>();
  const ended = new Set<number>();
  let pings = 0;
  socket.on('data', (chunk: Buffer) => {
    for (const event of reader.push(chunk)) {
      if (event.type === 'ping') {
        pings += 1;
        continue;
      }
      keep(said, event.stream, event.data);
      if (event.end) ended.add(event.stream);
    }
  });
  return { textOf: (stream: number) => textOf(said, stream), ended, pings: () => pings };
}

test('a command has its streams as channels, its input ends, and its status comes last', async () => {
  const runtimes: Socket[] = [];
  const { url, requests, calls } = await aStreamingServer({ onStream: (socket) => void runtimes.push(socket) });
  const { socket, state, textOf } = await connect(url);
  assert.equal(socket.protocol, 'v5.channel.k8s.io');
  const [runtime] = runtimes;
  const heard = reads(runtime!);
  const [{ method, headers }] = requests as [(typeof requests)[0]];
  assert.deepEqual(
    [method, headers.upgrade, headers['x-stream-protocol-version'], headers['sec-websocket-key'], calls.length],
    ['POST', 'SPDY/3.1', 'v4.channel.k8s.io', undefined, 1],
  );
  socket.send(Buffer.from('\0in'));
  socket.send(Buffer.from([255, 0]));
  await until('the input', () => heard.textOf(stdin) === 'in' && heard.ended.has(stdin));
  runtime!.write(Buffer.concat([dataFrame(stdout, Buffer.from('out')), pingFrame(2), dataFrame(stderr, Buffer.from('err'))]));
  await until('the output', () => textOf(1) === 'out' && textOf(2) === 'err' && heard.pings() === 1);
  runtime!.end(Buffer.concat([error, stdout, stderr].map((id) => dataFrame(id, id === error ? Buffer.from(status) : nothing, true))));
  await until('the end', () => state.closed !== null);
  assert.deepEqual([state.closed, textOf(3)], [1000, status]);
});

test('what goes through is whole and no more than fits, either way', async () => {
  const runtimes: Socket[] = [];
  const { url } = await aStreamingServer({ onStream: (socket) => void runtimes.push(socket) });
  const { socket, state, textOf } = await connect(url);
  const runtime = runtimes[0]!;
  const sent = Buffer.alloc(6_000_000, 'abcdefghijk');
  // Nobody reads at the runtime for a while: what the client says waits with the client.
  for (let at = 0; at < sent.length; at += 100_000) socket.send(Buffer.concat([Buffer.from([0]), sent.subarray(at, at + 100_000)]));
  socket.send(Buffer.from([255, 0]));
  await sleep(200);
  const input = reads(runtime);
  await until('all of the input', () => input.ended.has(stdin));
  assert.ok(input.textOf(stdin) === sent.toString());
  for (let at = 0; at < sent.length; at += 70_000) runtime.write(dataFrame(stdout, sent.subarray(at, at + 70_000)));
  runtime.end(dataFrame(error, Buffer.from(status), true));
  await until('the end', () => state.closed !== null);
  assert.ok(textOf(1) === sent.toString());
  assert.equal(textOf(3), status);
});

test('a runtime that breaks off is a failure, and one that refuses an error before there is a WebSocket', async () => {
  const broken = await aStreamingServer({ onStream: (socket) => void setTimeout(() => socket.destroy(), 50) });
  const { state, textOf } = await connect(broken.url);
  await until('the end', () => state.closed !== null);
  assert.match(textOf(3), /"status":"Failure","message":"Internal error occurred: the connection to the runtime was lost"/);
  const other = await aStreamingServer({
    onRequest: (_, socket) => void socket.end('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n'),
  });
  const refused = other.open(exec, [...head, 'Sec-WebSocket-Protocol: v5.channel.k8s.io'], 'GET');
  await until('the answer', () => refused.state.ended);
  assert.match(refused.state.text, /^HTTP\/1\.1 500 [^]*unable to upgrade: missing upgrade headers in response$/);
  const noKey = other.open(exec, [...head.slice(0, 3), 'Sec-WebSocket-Protocol: v5.channel.k8s.io'], 'GET');
  await until('the answer', () => noKey.state.ended);
  assert.match(noKey.state.text, /^HTTP\/1\.1 400 [^]*the key of a WebSocket has 16 bytes\n$/);
});

test('a client that leaves, with or without a word, takes its connection to the runtime with it', async () => {
  const onStream = (socket: Socket) => void reads(socket.on('end', () => socket.end()));
  const { url, open, sockets, underWay } = await aStreamingServer({ onStream });
  const { socket, state } = await connect(url);
  socket.close();
  await until('the end', () => state.closed === 1000 && underWay() === 0);
  const silent = open(exec, [...head, 'Sec-WebSocket-Protocol: v5.channel.k8s.io'], 'GET');
  await until('the answer', () => silent.state.text.startsWith('HTTP/1.1 101 '));
  silent.socket.destroy();
  await until('the end', () => sockets.size === 0);
  const hostile = open(exec, [...head, 'Sec-WebSocket-Protocol: v5.channel.k8s.io'], 'GET');
  await until('the answer', () => hostile.state.text.startsWith('HTTP/1.1 101 '));
  hostile.socket.write('no frame at all');
  await until('goodbye', () => hostile.state.text.includes('\x88\x02\x03\xea'));
  hostile.socket.end();
  await until('the end', () => sockets.size === 0);
});

test('a client that only asks whether anybody is there, and never listens, is not answered for ever', async () => {
  const { open } = await aStreamingServer();
  const { socket, state } = open(exec, [...head, 'Sec-WebSocket-Protocol: v5.channel.k8s.io'], 'GET');
  await until('the answer', () => state.text.startsWith('HTTP/1.1 101 '));
  socket.pause();
  const pings = Buffer.concat(Array.from({ length: 1000 }, () => masked(9, 'x'.repeat(120))));
  const turns = 300;
  for (let turn = 0; turn < turns; turn += 1) if (!socket.write(pings)) await once(socket, 'drain');
  // What the kernel has taken comes, and no more than that.
  socket.resume();
  for (let before = -1; before < state.bytes; await sleep(200)) before = state.bytes;
  assert.ok(state.bytes < (turns * pings.length) / 2, `${state.bytes} bytes came back`);
  socket.destroy();
});

test('what a runtime says last arrives, though its command has not taken all of the input', async () => {
  const output = 3_000_000;
  const { open } = await aStreamingServer({ onStream: (runtime) => void runtime.end(Buffer.alloc(output, 'o')) });
  const { socket, state } = open(exec);
  socket.pause();
  socket.write(Buffer.alloc(10_000_000, 'i'));
  await sleep(200);
  socket.resume();
  await until('the end', () => state.ended);
  assert.equal(state.bytes - state.text.indexOf('\r\n\r\n') - 4, output);
  socket.destroy();
});

test('a port’s SPDY goes through a WebSocket unread', async () => {
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
  await until('the answer', () => state.text.includes('\r\nSec-WebSocket-Protocol: SPDY/3.1+portforward.k8s.io\r\n\r\n'));
  assert.equal(requests[0]!.headers['x-stream-protocol-version'], 'portforward.k8s.io');
  assert.deepEqual(calls[0]!.request, { podSandboxId: 's', port: [] });
  socket.write(Buffer.concat([masked(2, 'there and', { fin: false }), masked(0, ' back')]));
  await until('the echo', () => state.text.split('\r\n\r\n')[1]?.replaceAll(/\x82./gs, '') === 'there and back');
  socket.write(masked(8, Buffer.from([3, 232])));
  await until('goodbye', () => state.text.endsWith('\x88\x02\x03\xe8') && state.ended);
});
