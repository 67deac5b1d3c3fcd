import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { CriError, grpcCode } from '../../../src/shared/cri/cri-error.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aStreamingServer } from '../../support/server/streaming-server.ts';

const exec = '/exec/default/web/app?command=sh&command=-c&input=1&output=1';
const spdy = [
  'Connection: Upgrade',
  'Upgrade: SPDY/3.1',
  'X-Stream-Protocol-Version: v5.channel.k8s.io',
  'X-Stream-Protocol-Version: v4.channel.k8s.io',
];

const echo = (socket: Socket) => void socket.pipe(socket);

test('an exec is proxied to the URL of the runtime', async () => {
  const { open, calls, queries, requests } = await aStreamingServer({ onStream: echo });
  const { socket, state } = open(exec, [...spdy, 'Authorization: Bearer secret', 'X-Other: x']);
  socket.write('before the answer, ');
  await waitUntil('the answer', () => state.text.includes('\r\n\r\n'));
  socket.write(Buffer.from([0, 255, 13, 10, 13, 10]));
  await waitUntil('the echo', () => state.text.endsWith('\0\xff\r\n\r\n'));
  assert.equal(
    state.text,
    'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\nX-Stream: v4\r\n\r\nbefore the answer, \0\xff\r\n\r\n',
  );
  assert.deepEqual(calls, [
    { method: 'exec', request: { containerId: 'c', cmd: ['sh', '-c'], stdin: true, stdout: true, stderr: false, tty: false } },
  ]);
  assert.deepEqual(queries, [{ purpose: 'exec', namespace: 'default', pod: 'web', container: 'app' }]);
  const [request] = requests;
  assert.deepEqual([request!.method, request!.url], ['POST', '/exec/token?a=b']);
  assert.deepEqual(request!.headersDistinct['x-stream-protocol-version'], ['v5.channel.k8s.io', 'v4.channel.k8s.io']);
  assert.deepEqual([request!.headers.authorization, request!.headers['x-other']], [undefined, undefined]);
  assert.equal(request!.headers['x-forwarded-for'], '127.0.0.1');
  socket.end();
  await waitUntil('the end', () => state.closed);
});

test('a WebSocket is proxied with its handshake when translation is off', async () => {
  const { open, requests } = await aStreamingServer({ onStream: echo, translateWebSockets: false });
  const head = ['Connection: keep-alive, Upgrade', 'Upgrade: websocket', 'Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: x'];
  const { state } = open(exec, [...head, 'Sec-WebSocket-Protocol: v5.channel.k8s.io, v4.channel.k8s.io'], 'GET');
  await waitUntil('the answer', () => state.text.startsWith('HTTP/1.1 101 '));
  const { headers, method } = requests[0]!;
  assert.deepEqual(
    [method, headers['sec-websocket-key'], headers['sec-websocket-version'], headers['sec-websocket-protocol']],
    ['GET', 'x', '13', 'v5.channel.k8s.io, v4.channel.k8s.io'],
  );
});

test('an attach uses the terminal setting of the container, a port forward the sandbox and the ports', async () => {
  const { open, calls } = await aStreamingServer({ onStream: echo });
  const attach = open('/attach/default/web/app?output=1&error=1', spdy);
  const forward = open('/portForward/default/web', spdy);
  const ports = open('/portForward/default/web?port=80,81', ['Connection: Upgrade', 'Upgrade: websocket'], 'GET');
  await waitUntil('all answers', () => [attach, forward, ports].every(({ state }) => state.text.startsWith('HTTP/1.1 101 ')));
  const of = (method: string) => calls.filter((call) => call.method === method).map(({ request }) => request);
  assert.deepEqual(of('attach'), [{ containerId: 'c', stdin: false, stdout: true, stderr: true, tty: true }]);
  assert.deepEqual(
    of('portForward').sort((a, b) => JSON.stringify(a).length - JSON.stringify(b).length),
    [
      { podSandboxId: 's', port: [] },
      { podSandboxId: 's', port: [80, 81] },
    ],
  );
});

const refusals: { name: string; target: string; head?: string[]; body?: string; want: RegExp }[] = [
  {
    name: 'no streams',
    target: '/exec/default/web/app?command=ls',
    want: /^HTTP\/1.1 400 [\s\S]*\r\n\r\nyou must specify at least 1 of stdin, stdout, stderr$/,
  },
  { name: 'an unknown pod', target: '/exec/default/x/app?output=1', want: /^HTTP\/1.1 404 [\s\S]*\r\n\r\npod does not exist$/ },
  {
    name: 'no port for a WebSocket',
    target: '/portForward/default/web',
    head: ['Connection: Upgrade', 'Upgrade: websocket'],
    want: /^HTTP\/1.1 400 [\s\S]*\r\n\r\nquery parameter "port" is required$/,
  },
  {
    name: 'a body',
    target: exec,
    head: [...spdy, 'Content-Length: 40'],
    body: 'GET /smuggled HTTP/1.1\r\nHost: runtime\r\n\r\n',
    want: /^HTTP\/1.1 400 /,
  },
];
for (const { name, target, head = spdy, body, want } of refusals) {
  test(`a stream is refused: ${name}`, async () => {
    const { open, requests } = await aStreamingServer();
    const { state } = open(target, head, 'POST', body);
    await waitUntil('the end', () => state.ended);
    assert.match(state.text, want);
    assert.equal(requests.length, 0);
  });
}

test('a streaming request without an upgrade is refused', async () => {
  const { url, calls } = await aStreamingServer();
  const response = await fetch(`${url}${exec}`, { method: 'POST' });
  assert.deepEqual([response.status, await response.text()], [500, 'Upgrade request required\n']);
  assert.deepEqual(calls, []);
});

test("the runtime's error of the call is returned", async () => {
  let code: number = grpcCode.NOT_FOUND;
  const { open } = await aStreamingServer({ call: () => Promise.reject(new CriError('Exec', code, 'why')) });
  const first = open(exec, spdy).state;
  await waitUntil('the end', () => first.ended);
  assert.match(first.text, /^HTTP\/1.1 404 [\s\S]*\r\n\r\nrpc error: code = NotFound desc = why$/);
  code = grpcCode.RESOURCE_EXHAUSTED;
  const second = open(exec, spdy).state;
  await waitUntil('the end', () => second.ended);
  assert.match(second.text, /^HTTP\/1.1 429 [\s\S]*Retry-After: 60\r\n/);
});

test("the runtime's error response to the stream is relayed", async () => {
  const { open } = await aStreamingServer({
    onRequest: (_, socket) => socket.end('HTTP/1.1 404 Not Found\r\nContent-Type: text/x\r\nX-Evil: 1\r\nContent-Length: 4\r\n\r\ngone'),
  });
  const { state } = open(exec, spdy);
  await waitUntil('the end', () => state.ended);
  assert.match(state.text, /^HTTP\/1.1 404 Not Found\r\nContent-Type: text\/x\r\n[\s\S]*gone/);
  assert.doesNotMatch(state.text, /X-Evil/);
});

test('an upgrade that the runtime refuses, breaks or does not answer is an error', async () => {
  const cases: { onRequest: (socket: Socket) => void; want: RegExp }[] = [
    {
      onRequest: (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n'),
      want: /invalid upgrade response: status code 200$/,
    },
    { onRequest: (socket) => socket.end('rubbish\r\n\r\n'), want: /error dialing backend: Parse Error/ },
    { onRequest: (socket) => socket.destroy(), want: /error dialing backend: (socket hang up|read ECONNRESET)$/ },
    { onRequest: () => {}, want: /error dialing backend: no answer from 127\.0\.0\.1:\d+ within 200 ms$/ },
  ];
  for (const { onRequest, want } of cases) {
    const { open } = await aStreamingServer({ onRequest: (_, socket) => onRequest(socket), requestTimeoutMs: 200 });
    const { state } = open(exec, spdy);
    await waitUntil('the end', () => state.ended);
    assert.match(state.text, /^HTTP\/1.1 500 /);
    assert.match(state.text, want);
  }
});

test('an invalid or unreachable streaming URL is an error', async () => {
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve));
  const { port } = closed.address() as { port: number };
  closed.close();
  for (const [url, want] of [
    [`http://127.0.0.1:${port}/x`, /error dialing backend: connect ECONNREFUSED/],
    ['ftp://127.0.0.1/x', /error dialing backend: unknown scheme: ftp$/],
    ['', /error dialing backend: the runtime gave "" as the URL of the stream$/],
  ] as const) {
    const { open } = await aStreamingServer({ url });
    const { state } = open(exec, spdy);
    await waitUntil('the end', () => state.ended);
    assert.match(state.text, want);
  }
});

test('the last bytes of the runtime arrive before the end', async () => {
  const size = 5_000_000;
  const { open, sockets, underWay } = await aStreamingServer({ onStream: (socket) => void socket.end(Buffer.alloc(size, 'x')) });
  const { socket, state } = open(exec, spdy);
  socket.pause();
  await sleep(100);
  socket.resume();
  await waitUntil('the end', () => state.ended);
  assert.ok(state.bytes > size, String(state.bytes));
  socket.end();
  await waitUntil('no connection left', () => sockets.size === 0 && underWay() === 0);
});

test('a client that has ended its side still gets the response', async () => {
  let received = '';
  const { open, sockets, underWay } = await aStreamingServer({
    onStream: (socket) => {
      socket.on('data', (data) => (received += data.toString()));
      socket.on('end', () => socket.end(`received ${received}`));
    },
  });
  const { socket, state } = open(exec, spdy);
  await waitUntil('the answer', () => state.text.startsWith('HTTP/1.1 101 '));
  socket.end('all of it');
  await waitUntil('the answer', () => state.text.endsWith('received all of it'));
  await waitUntil('no connection left', () => sockets.size === 0 && underWay() === 0);
});

test('a client that disconnects closes the connection to the runtime', async () => {
  const { open, sockets, underWay } = await aStreamingServer({ onStream: (socket) => void socket.resume().on('end', () => socket.end()) });
  const { socket, state } = open(exec, spdy);
  await waitUntil('the answer', () => state.text.startsWith('HTTP/1.1 101 '));
  socket.resetAndDestroy();
  await waitUntil('no connection left', () => sockets.size === 0 && underWay() === 0);
});

test('a client that disconnects during the runtime call leaves no connection', async () => {
  const runtimeReply = Promise.withResolvers<object>();
  const { open, sockets, calls, requests, underWay } = await aStreamingServer({ call: () => runtimeReply.promise });
  const { socket } = open(exec, spdy);
  await waitUntil('the call', () => calls.length === 1);
  socket.destroy();
  await waitUntil('no connection left', () => sockets.size === 0);
  runtimeReply.resolve({ url: 'http://127.0.0.1:1/' });
  await waitUntil('nothing is under way', () => underWay() === 0);
  assert.equal(requests.length, 0);
});

test('a client that disconnects during the upgrade leaves no connection', async () => {
  const runtimeReply = Promise.withResolvers<Socket>();
  const { open, sockets, underWay } = await aStreamingServer({ onRequest: (_, socket) => runtimeReply.resolve(socket) });
  const { socket } = open(exec, spdy);
  const runtime = await runtimeReply.promise;
  socket.resetAndDestroy();
  runtime.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n');
  await waitUntil('nothing is under way', () => underWay() === 0);
  runtime.destroy();
  await waitUntil('no connection left', () => sockets.size === 0 && underWay() === 0);
});

test('an idle stream ends after the timeout, an active one does not', async () => {
  const { open, sockets, underWay } = await aStreamingServer({ onStream: echo, idleTimeoutMs: 200 });
  const { socket, state } = open(exec, spdy);
  for (let n = 0; n < 8; n += 1) {
    await sleep(50);
    socket.write('.');
  }
  await sleep(20);
  assert.ok(state.text.endsWith('........'));
  await waitUntil('the end', () => state.closed || state.ended);
  await waitUntil('no connection left', () => sockets.size === 0 && underWay() === 0);
});

test('a slow client causes backpressure on the runtime', async () => {
  let sent = 0;
  const chunk = Buffer.alloc(65_536, 'x');
  const { open } = await aStreamingServer({
    onStream: (socket) => {
      const fill = () => {
        while (sent < 2_000 * chunk.length && socket.writable) {
          sent += chunk.length;
          if (socket.write(chunk)) continue;
          socket.once('drain', fill);
          return;
        }
      };
      fill();
    },
  });
  const { socket } = open(exec, spdy);
  socket.pause();
  await sleep(300);
  assert.ok(sent < 30_000_000, String(sent));
  socket.destroy();
});

test('a hundred concurrent streams end with the server', async () => {
  const { open, sockets, streaming, underWay } = await aStreamingServer({ onStream: echo });
  const streams = Array.from({ length: 100 }, () => open(exec, spdy));
  await waitUntil('all answers', () => streams.every(({ state }) => state.text.startsWith('HTTP/1.1 101 ')));
  streams.forEach(({ socket }, n) => socket.write(`<${n}>`));
  await waitUntil('all echoes', () => streams.every(({ state }, n) => state.text.endsWith(`<${n}>`)));
  streaming.close();
  await waitUntil('no connection left', () => sockets.size === 0 && underWay() === 0);
});

test('run returns the output of the command', async () => {
  const { url, calls } = await aStreamingServer({
    call: async () => ({ exitCode: 0, stdout: Buffer.from('out\n'), stderr: Buffer.from('err\n') }),
  });
  const response = await fetch(`${url}/run/default/web/app?cmd=ls%20-l`, { method: 'POST' });
  assert.deepEqual([response.status, await response.text()], [200, 'out\nerr\n']);
  assert.deepEqual(calls, [{ method: 'execSync', request: { containerId: 'c', cmd: ['ls', '-l'], timeout: 0n } }]);
});

test('run returns the error of a failed command', async () => {
  let answer: () => Promise<object> = async () => ({ exitCode: 3, stdout: Buffer.from('out'), stderr: Buffer.from('no such file') });
  const { url } = await aStreamingServer({ call: () => answer() });
  const run = async () => {
    const response = await fetch(`${url}/run/default/web/app?cmd=ls%20-l`, { method: 'POST' });
    return `${response.status} ${await response.text()}`;
  };
  assert.equal(await run(), "500 command 'ls -l' exited with 3: no such file");
  answer = () => Promise.reject(new CriError('ExecSync', grpcCode.UNKNOWN, 'no task'));
  assert.equal(await run(), '500 rpc error: code = Unknown desc = no task');
});

test('checkpoint returns the location of the checkpoint', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'checkpoints-'));
  after(() => rmSync(folder, { recursive: true }));
  const checkpointsDir = join(folder, 'checkpoints');
  let answer: () => Promise<object> = async () => ({});
  const { url, calls } = await aStreamingServer({ checkpointsDir, call: () => answer() });
  const checkpoint = async (query = '') => {
    const response = await fetch(`${url}/checkpoint/default/web/app${query}`, { method: 'POST' });
    return `${response.status} ${await response.text()}`;
  };
  const location = join(checkpointsDir, 'checkpoint-web_default-app-2026-01-02T00:00:00Z.tar');
  assert.equal(await checkpoint(), `200 {"items":["${location}"]}`);
  assert.equal(statSync(checkpointsDir).mode & 0o777, 0o700);
  assert.deepEqual(calls, [{ method: 'checkpointContainer', request: { containerId: 'c', location, timeout: 5n } }]);
  await checkpoint('?timeout=60');
  assert.deepEqual(calls[1]!.request, { containerId: 'c', location, timeout: 60n });
  assert.equal(await checkpoint('?timeout=x'), '404 cannot parse value of timeout parameter');
  assert.equal(
    await checkpoint('?timeout=-1'),
    '500 checkpointing of default/web/app failed (CheckpointContainer requires the timeout value to be > 0)',
  );
  answer = () => Promise.reject(new CriError('CheckpointContainer', grpcCode.UNIMPLEMENTED, 'no criu'));
  assert.equal(await checkpoint(), '500 checkpointing of default/web/app failed (rpc error: code = Unimplemented desc = no criu)');
});
