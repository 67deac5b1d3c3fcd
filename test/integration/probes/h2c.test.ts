/** HTTP probes with the protocol HTTP2: HTTP/2 without TLS, with prior knowledge. The texts are those of Go 1.26's client, which was asked the same. */
import assert from 'node:assert/strict';
import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttp2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { createServer, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { attempt } from '../../support/probes/attempt.ts';
import { httpAction } from '../../support/probes/probed-pod.ts';
import { listen } from '../../support/server/listen.ts';
import { table } from '../../support/table.ts';

const probe = async (port: number, { path = '/healthz', headers = [] as { name: string; value: string }[], timeoutSeconds = 1 } = {}) => {
  const { outcome, output } = await attempt(httpAction(port, { path, headers, protocol: 'HTTP2' }), timeoutSeconds);
  return `${outcome}: ${output}`.replaceAll(String(port), 'PORT').replace(/:\d+->/, ':LOCAL->');
};
const serve = (answer: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void) => {
  const server = createHttp2Server();
  server.on('sessionError', () => {});
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {});
    answer(stream, headers);
  });
  return listen({ after }, server);
};
const raw = (answer: (socket: Socket) => void) =>
  listen(
    { after },
    createServer((socket) => {
      socket.on('error', () => {});
      // The client's first frames are read before the answer, or a reset would follow.
      socket.once('data', () => answer(socket));
    }),
  );

test('the request, and the answers', { timeout: 60_000 }, async () => {
  const seen: IncomingHttpHeaders[] = [];
  const body = 'b'.repeat(20_000);
  const port = await serve((stream, headers) => {
    seen.push(headers);
    const [, status = '', location] = headers[':path']!.split('/');
    stream.respond({
      ':status': Number(status) || 200,
      ...(location && { location: location === 'away' ? 'http://other.test/' : `/${location}` }),
    });
    stream.end(body);
  });
  const headers = [
    { name: 'Host', value: 'named.test' },
    { name: 'Connection', value: 'close' },
    { name: 'X-A', value: '1' },
  ];
  assert.equal(await probe(port, { path: '/200?a=b', headers }), 'success: ');
  assert.deepEqual(Object.fromEntries(Object.entries(seen[0]!)), {
    ':authority': 'named.test',
    ':method': 'GET',
    ':path': '/200?a=b',
    ':scheme': 'http',
    'x-a': '1',
  });
  const cases: readonly [path: string, want: string][] = [
    ['/503', 'failure: HTTP probe failed with statuscode: 503'],
    ['/302/200', 'success: '],
    ['/302/away', `warning: Probe terminated redirects, Response body: ${body.slice(0, 10 * 1024)}`],
  ];
  for (const [path, want] of cases) assert.equal(await probe(port, { path }), want, path);
  const upgrade = [{ name: 'Upgrade', value: 'websocket' }];
  const want = 'failure: Get "http://127.0.0.1:PORT/": http2: invalid Upgrade request header: ["websocket"]';
  assert.equal(await probe(port, { path: '/', headers: upgrade }), want);
});

test('a server that speaks HTTP/1.1 only fails', { timeout: 60_000 }, async () => {
  const port = await listen(
    { after },
    createHttpServer((_, response) => response.end()),
  );
  const text = 'http2: failed reading the frame payload: http2: frame too large, note that the frame header looked like an HTTP/1.1 header';
  assert.equal(await probe(port), `failure: Get "http://127.0.0.1:PORT/healthz": ${text}`);
});

const frame = (type: number, flags: number, stream: number, payload: Buffer) => {
  const header = Buffer.alloc(9);
  header.writeUIntBE(payload.length, 0, 3);
  header.writeUInt8(type, 3);
  header.writeUInt8(flags, 4);
  header.writeUInt32BE(stream, 5);
  return Buffer.concat([header, payload]);
};
const settings = frame(4, 0, 0, Buffer.alloc(0));
/** Writes as long as the client reads. */
const flood =
  (piece: Buffer, first = settings) =>
  (socket: Socket) => {
    const pieces = Buffer.concat(Array.from({ length: Math.ceil(65_536 / piece.length) }, () => piece));
    const write = () => {
      while (!socket.destroyed && socket.write(pieces));
    };
    socket.on('drain', write).write(first);
    write();
  };
const getError = 'failure: Get "http://127.0.0.1:PORT/healthz": ';
const tooMuch = 'read tcp 127.0.0.1:LOCAL->127.0.0.1:PORT: read: the server sent more than 1048576 bytes';
const headers = frame(1, 4, 1, Buffer.from([0x88]));
const hostile: readonly (readonly [name: string, answer: (socket: Socket) => void, want: RegExp | string])[] = [
  ['does not answer', () => {}, `${getError}context deadline exceeded (Client.Timeout exceeded while awaiting headers)`],
  [
    'sends no body',
    (socket) => socket.write(Buffer.concat([settings, headers])),
    'failure: context deadline exceeded (Client.Timeout or context cancellation while reading body)',
  ],
  ['closes the connection', (socket) => socket.end(), `${getError}unexpected EOF`],
  ['sends zeros', (socket) => socket.write(Buffer.alloc(64)), `${getError}connection error: PROTOCOL_ERROR`],
  ['floods with answers to pings', flood(frame(6, 1, 0, Buffer.alloc(8))), /^failure: /],
  ['floods with pings', flood(frame(6, 0, 0, Buffer.alloc(8))), /^failure: /],
  ['floods with settings', flood(settings), /^failure: /],
  ['floods with updates of the window', flood(frame(8, 0, 0, Buffer.from([0, 0, 0, 1]))), /^failure: /],
  ['floods with resets of streams', flood(frame(3, 0, 1, Buffer.from([0, 0, 0, 8]))), /^failure: /],
  ['floods with priorities', flood(frame(2, 0, 1, Buffer.from([0, 0, 0, 0, 16]))), /^failure: /],
  ['floods with unknown frames', flood(frame(99, 0, 0, Buffer.alloc(100))), `${getError}${tooMuch}`],
  [
    'sends headers without an end',
    flood(frame(9, 0, 1, Buffer.alloc(0)), Buffer.concat([settings, frame(1, 0, 1, Buffer.from([0x88]))])),
    /^failure: /,
  ],
  [
    'sends large headers',
    flood(frame(9, 0, 1, Buffer.alloc(16_000, 0x88)), Buffer.concat([settings, frame(1, 0, 1, Buffer.from([0x88]))])),
    /^failure: /,
  ],
  [
    'promises resources',
    (socket) => socket.write(Buffer.concat([settings, frame(5, 4, 1, Buffer.from([0, 0, 0, 2, 0x82]))])),
    /^failure: /,
  ],
];
table('a server that breaks the protocol, or sends without an end, fails its probe', (row) => {
  for (const [name, answer, want] of hostile) {
    row(`a server that ${name}`, async () => {
      const before = process.cpuUsage();
      const output = await probe(await raw(answer), { timeoutSeconds: 1 });
      if (typeof want === 'string') assert.equal(output, want);
      else assert.match(output, want);
      const { user, system } = process.cpuUsage(before);
      // This process has the server, too.
      assert.ok(user + system < 2_000_000, `${(user + system) / 1000} ms of CPU`);
    });
  }
});
