/** Probes of servers that speak HTTP/2 over TLS, some of them nothing else. The texts are those of Go 1.26's client, which was asked the same. */
import assert from 'node:assert/strict';
import { createSecureServer, type IncomingHttpHeaders, type ServerHttp2Stream } from 'node:http2';
import { after, test } from 'node:test';
import { createServer as createTLSServer, type Server, type TLSSocket } from 'node:tls';
import type { AttemptResult } from '../../../src/workers/probes/actions/attempt.ts';
import { selfSignedCertificate } from '../../../src/workers/server/tls/self-signed.ts';
import { attempt } from '../../support/probes/attempt.ts';
import { listen as listenFor } from '../../support/server/listen.ts';
import { httpAction } from '../../support/probes/probed-pod.ts';
import { kubernetesMinor } from '../../../src/shared/kubernetes/version.ts';

const certificate = selfSignedCertificate('elsewhere.example', Date.now());

const listen = (server: Server) => listenFor({ after }, server);

/** It speaks HTTP/2 only. */
async function http2(serve: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void): Promise<number> {
  const server = createSecureServer(certificate);
  server.on('sessionError', () => {});
  server.on('stream', (stream: ServerHttp2Stream, headers) => {
    stream.on('error', () => {});
    serve(stream, headers);
  });
  return await listen(server);
}
/** It chooses HTTP/2, and answers anything. */
const raw = (serve: (socket: TLSSocket) => void) =>
  listen(createTLSServer({ ...certificate, ALPNProtocols: ['h2'] }, (socket) => serve(socket.on('error', () => {}))));
const output = ({ outcome, output: text }: AttemptResult, port: number) =>
  `${outcome}: ${text.replaceAll(String(port), 'PORT').replace(/:\d+->/, ':LOCAL->')}`;
const probe = (port: number, path = '/healthz', headers: { name: string; value: string }[] = []) =>
  attempt(httpAction(port, { scheme: 'https', path, headers }));

test('a server that speaks HTTP/2 only gets the request of an HTTP/2 client', { timeout: 60_000 }, async () => {
  const seen: IncomingHttpHeaders[] = [];
  const port = await http2((stream, headers) => {
    seen.push(headers);
    stream.respond({ ':status': 200 }, { endStream: true });
  });
  const headers = [
    { name: 'Host', value: 'example.com' },
    { name: 'User-Agent', value: `kube-probe/${kubernetesMinor}` },
    { name: 'Connection', value: 'close' },
    { name: 'Keep-Alive', value: '5' },
    { name: 'Te', value: 'gzip' },
    { name: 'X-A', value: '1' },
    { name: 'x-a', value: '2' },
    { name: 'Authorization', value: 'one' },
    { name: 'Authorization', value: 'two' },
  ];
  assert.equal(output(await probe(port, '/a?b', headers), port), 'success: ');
  assert.deepEqual(Object.fromEntries(Object.entries(seen[0]!)), {
    ':authority': 'example.com',
    ':method': 'GET',
    ':path': '/a?b',
    ':scheme': 'https',
    'user-agent': `kube-probe/${kubernetesMinor}`,
    'x-a': '1, 2',
    authorization: 'one',
  });
});

test('statuses, redirects and bodies', { timeout: 60_000 }, async () => {
  const body = 'b'.repeat(20_000);
  const port = await http2((stream, { ':path': path }) => {
    const [, status = '', location] = path!.split('/');
    if (status === 'interim') stream.additionalHeaders({ ':status': 103 });
    if (status === 'many') stream.respond(Object.fromEntries([[':status', 200], ...Array.from({ length: 500 }, (_, i) => [`h${i}`, 'v'])]));
    else
      stream.respond({
        ':status': Number(status) || 200,
        ...(location && { location: location === 'away' ? 'https://a/' : `/${location}` }),
      });
    stream.end(body);
  });
  const cases: readonly [string, string][] = [
    ['/200', 'success: '],
    ['/503', 'failure: HTTP probe failed with statuscode: 503'],
    ['/302/200', 'success: '],
    ['/302/away', `warning: Probe terminated redirects, Response body: ${body.slice(0, 10 * 1024)}`],
    ['/interim', 'success: '],
    ['/many', 'success: '],
  ];
  for (const [path, want] of cases) assert.equal(output(await probe(port, path), port), want, path);
});

test('headers that HTTP/2 does not have are not sent', { timeout: 60_000 }, async () => {
  const port = await http2((stream) => stream.respond({ ':status': 200 }, { endStream: true }));
  const text = async (name: string, value: string) => output(await probe(port, '/', [{ name, value }]), port);
  const start = 'failure: Get "https://127.0.0.1:PORT/": http2: invalid';
  assert.equal(await text('Upgrade', 'websocket'), `${start} Upgrade request header: ["websocket"]`);
  assert.equal(await text('Connection', 'Upgrade'), `${start} Connection request header: ["Upgrade"]`);
});

test('a server that refuses the stream is asked again', { timeout: 60_000 }, async () => {
  const refusal = 7;
  let requests = 0;
  const port = await http2((stream) => {
    requests += 1;
    if (requests === 1) stream.close(refusal);
    else stream.respond({ ':status': 200 }, { endStream: true });
  });
  assert.equal(output(await probe(port), port), 'success: ');
  assert.equal(requests, 2);
});

const getError = 'failure: Get "https://127.0.0.1:PORT/healthz": ';
const hostileStreams: readonly (readonly [name: string, serve: (stream: ServerHttp2Stream) => void, want: string])[] = [
  ['resets the stream', (stream) => stream.close(2), `${getError}stream error: stream ID 1; INTERNAL_ERROR; received from peer`],
  [
    'ends the session with a code',
    ({ session }) => session!.goaway(2, 1, Buffer.from('why')),
    `${getError}http2: server sent GOAWAY and closed the connection; LastStreamID=1, ErrCode=INTERNAL_ERROR, debug="why"`,
  ],
  ['closes the connection', ({ session }) => session!.socket.destroySoon(), `${getError}unexpected EOF`],
  [
    'sends less than it has promised',
    (stream) => (stream.respond({ ':status': 200, 'content-length': 9 }), stream.end('a')),
    'failure: unexpected EOF',
  ],
  ['has a body without an end', (stream) => (stream.respond({ ':status': 200 }), flood(stream, Buffer.alloc(1000))), 'success: '],
  ['does not answer', () => {}, `${getError}net/http: request canceled (Client.Timeout exceeded while awaiting headers)`],
  ['does not send its body', (stream) => stream.respond({ ':status': 200 }), 'failure: context deadline exceeded'],
];
const sendsTooMuch = 'read tcp 127.0.0.1:LOCAL->127.0.0.1:PORT: read: the server sent more than 1048576 bytes';
const settings = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);
const ping = Buffer.from([0, 0, 8, 6, 1, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7]);
const windowUpdate = Buffer.from([0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
const hostileConnections: readonly (readonly [name: string, serve: (socket: TLSSocket) => void, want: string])[] = [
  ['closes the connection at once', (socket) => socket.end(), `${getError}unexpected EOF`],
  ['answers with HTTP/1.1', (socket) => socket.write('HTTP/1.1 200 OK\r\n\r\n'), `${getError}connection error: PROTOCOL_ERROR`],
  ['sends updates of the window without an end', (socket) => flood(socket, windowUpdate, settings), `${getError}${sendsTooMuch}`],
];

/** Writes as long as the client reads. */
function flood(target: TLSSocket | ServerHttp2Stream, piece: Buffer, first = piece): void {
  target.write(first);
  const pieces = Buffer.concat(Array.from({ length: 1000 }, () => piece));
  const write = () => {
    while (!target.destroyed && target.write(pieces));
  };
  target.on('drain', write);
  write();
}

for (const [name, port, want] of [
  ...hostileStreams.map(([name, serve, want]) => [name, () => http2(serve), want] as const),
  ...hostileConnections.map(([name, serve, want]) => [name, () => raw(serve), want] as const),
]) {
  test(`a server that ${name}`, { timeout: 60_000 }, async () => {
    const number = await port();
    assert.equal(output(await attempt(httpAction(number, { scheme: 'https' }), 1), number), want);
  });
}

test('a server that sends pings without an end', { timeout: 60_000 }, async () => {
  const number = await raw((socket) => flood(socket, ping, settings));
  // The client finds that it has sent no ping, or that it has received too much: the first of the two.
  const either = [`${getError}${sendsTooMuch}`, `${getError}connection error: PROTOCOL_ERROR`];
  const result = output(await attempt(httpAction(number, { scheme: 'https' }), 1), number);
  assert.ok(either.includes(result), result);
});
