/** HTTP and TCP probes on real sockets: requests, redirects, TLS, and servers that do anything but answer. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import { createServer as createRawServer, type Server, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { createServer as createTLSServer } from 'node:tls';
import type { AttemptResult } from '../../../src/workers/probes/actions/attempt.ts';
import { selfSignedCertificate } from '../../../src/workers/server/tls/self-signed.ts';
import { attempt } from '../../support/probes/attempt.ts';
import { listen as listenFor } from '../../support/server/listen.ts';
import { httpAction } from '../../support/probes/probed-pod.ts';
import { kubernetesMinor } from '../../../src/shared/kubernetes/version.ts';

const listen = (server: Server) => listenFor({ after }, server);
const http = (serve: (request: IncomingMessage, response: ServerResponse) => void) => listen(createServer(serve));
const raw = (serve: (socket: Socket) => void) => listen(createRawServer(serve));
const output = ({ outcome, output: text }: AttemptResult, port: number) => `${outcome}: ${text.replaceAll(String(port), 'PORT')}`;

test('the request is upstream’s', { timeout: 60_000 }, async () => {
  let seen: IncomingMessage | undefined;
  const port = await http((request, response) => {
    seen = request;
    response.end();
  });
  const headers = [
    { name: 'host', value: 'example.com' },
    { name: 'User-Agent', value: `kube-probe/${kubernetesMinor}` },
    { name: 'X-A', value: '1' },
    { name: 'x-a', value: '2' },
  ];
  assert.equal((await attempt(httpAction(port, { path: '/a?b', headers }))).outcome, 'success');
  assert.deepEqual([seen?.method, seen?.url, seen?.httpVersion], ['GET', '/a?b', '1.1']);
  assert.deepEqual(seen?.headers, {
    host: 'example.com',
    'user-agent': `kube-probe/${kubernetesMinor}`,
    'x-a': '1, 2',
    connection: 'close',
  });
});

test('a header with a line break is not sent', { timeout: 60_000 }, async () => {
  let requests = 0;
  const port = await http((_, response) => {
    requests += 1;
    response.end();
  });
  const result = await attempt(httpAction(port, { headers: [{ name: 'A', value: 'b\r\nC: d' }] }));
  assert.equal(output(result, port), 'failure: Get "http://127.0.0.1:PORT/healthz": net/http: invalid header field value for "A"');
  assert.equal(requests, 0);
});

test('statuses and redirects', { timeout: 60_000 }, async () => {
  const other = await http((_, response) => response.end());
  const port = await http(({ url }, response) => {
    const [, status = '200', target = ''] = url!.split('/');
    const location = { ok: '/200', loop: `/302/loop`, port: `http://127.0.0.1:${other}/`, away: 'http://localhost:1/', bad: 'http://[' }[
      target
    ];
    response.writeHead(Number(status), location === undefined ? {} : { location }).end('the body');
  });
  const cases: readonly [string, string][] = [
    ['/200', 'success: '],
    ['/204', 'success: '],
    ['/400', 'failure: HTTP probe failed with statuscode: 400'],
    ['/503', 'failure: HTTP probe failed with statuscode: 503'],
    ['/302/ok', 'success: '],
    ['/307/port', 'success: '],
    ['/301/away', 'warning: Probe terminated redirects, Response body: the body'],
    ['/302', 'warning: Probe terminated redirects, Response body: the body'],
    ['/304', 'warning: Probe terminated redirects, Response body: '],
    ['/302/loop', 'failure: Get "/302/loop": stopped after 10 redirects'],
    ['/302/bad', 'failure: Get "http://127.0.0.1:PORT/302/bad": failed to parse Location header "http://["'],
  ];
  for (const [path, want] of cases) assert.equal(output(await attempt(httpAction(port, { path })), port), want, path);
});

test('HTTPS: no certificate is verified, and plain HTTP is named', { timeout: 60_000 }, async () => {
  const { cert, key } = selfSignedCertificate('elsewhere.example', Date.now());
  const port = await listen(createSecureServer({ cert, key }, (_, response) => response.end()));
  assert.equal((await attempt(httpAction(port, { scheme: 'https' }))).outcome, 'success');
  const plain = await http((_, response) => response.end());
  assert.equal(
    output(await attempt(httpAction(plain, { scheme: 'https' })), plain),
    'failure: Get "https://127.0.0.1:PORT/healthz": http: server gave HTTP response to HTTPS client',
  );
});

test('HTTPS: a handshake that fails has Go’s text', { timeout: 60_000 }, async () => {
  const { cert, key } = selfSignedCertificate('elsewhere.example', Date.now());
  const answer = (bytes: string | readonly number[]) =>
    raw((socket) => socket.once('data', () => socket.end(Buffer.from(bytes as string))));
  const needsClientCertificate = createSecureServer({ cert, key, requestCert: true, rejectUnauthorized: true }, () => {});
  const old = createTLSServer({ cert, key, minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' });
  // Go 1.26's client was asked the same (the texts after the URL).
  const cases: readonly [string, number, string][] = [
    ['another protocol', await answer('SSH-2.0-server\r\n'), 'tls: first record does not look like a TLS handshake'],
    ['the end of the connection', await answer(''), 'EOF'],
    ['half a record', await answer([22, 3, 3, 0, 100, 2, 0, 0]), 'unexpected EOF'],
    ['an alert', await answer([21, 3, 3, 0, 2, 2, 112]), 'remote error: tls: unrecognized name'],
    ['an old version', await listen(old), 'remote error: tls: protocol version not supported'],
    ['a client certificate is missing', await listen(needsClientCertificate), 'remote error: tls: certificate required'],
    [
      'a reset',
      await raw((socket) => socket.once('data', () => socket.resetAndDestroy())),
      'read tcp 127.0.0.1:LOCAL->127.0.0.1:PORT: read: connection reset by peer',
    ],
  ];
  for (const [name, port, want] of cases) {
    const text = output(await attempt(httpAction(port, { scheme: 'https' })), port).replace(/:\d+->/, ':LOCAL->');
    assert.equal(text, `failure: Get "https://127.0.0.1:PORT/healthz": ${want}`, name);
  }
});

test('connections that fail', { timeout: 60_000 }, async () => {
  const refused = createRawServer();
  const port = await listen(refused);
  refused.close();
  await once(refused, 'close');
  const refusal = 'dial tcp 127.0.0.1:PORT: connect: connection refused';
  assert.equal(output(await attempt(httpAction(port)), port), `failure: Get "http://127.0.0.1:PORT/healthz": ${refusal}`);
  assert.equal(output(await attempt({ type: 'tcp', host: '127.0.0.1', port }), port), `failure: ${refusal}`);
});

test('a TCP probe succeeds when the connection is open', { timeout: 60_000 }, async () => {
  const port = await raw(() => {});
  assert.equal((await attempt({ type: 'tcp', host: '127.0.0.1', port })).outcome, 'success');
  assert.equal((await attempt({ type: 'tcp', host: 'localhost', port })).outcome, 'success');
});

test('a name that does not exist', { timeout: 60_000 }, async () => {
  const result = await attempt({ type: 'tcp', host: 'does-not-exist.invalid', port: 80 });
  assert.match(output(result, 0), /^failure: dial tcp: lookup does-not-exist\.invalid: /);
});

const getError = 'failure: Get "http://127.0.0.1:PORT/healthz": ';
const awaiting = `${getError}context deadline exceeded (Client.Timeout exceeded while awaiting headers)`;
const broken = 'net/http: HTTP/1.x transport connection broken: ';
const hostile: readonly {
  readonly name: string;
  readonly serve: (socket: Socket) => void;
  readonly want: string;
  readonly isError?: true;
}[] = [
  { name: 'no answer', serve: () => {}, want: awaiting },
  {
    name: 'a byte at a time',
    serve: (socket) => {
      const drip = setInterval(() => socket.write('H'), 20);
      socket.on('close', () => clearInterval(drip));
    },
    want: awaiting,
  },
  { name: 'an end without an answer', serve: (socket) => socket.end(), want: `${getError}EOF` },
  {
    name: 'another protocol',
    serve: (socket) => socket.end('SSH-2.0-x\r\n'),
    want: `${getError}${broken}malformed HTTP response "SSH-2.0-x"`,
  },
  {
    name: 'a reset',
    serve: (socket) => socket.once('data', () => socket.resetAndDestroy()),
    want: `${getError}read tcp 127.0.0.1:LOCAL->127.0.0.1:PORT: read: connection reset by peer`,
  },
  {
    name: 'endless headers',
    serve: (socket) => flood(socket, 'HTTP/1.1 200 OK\r\n', `A: ${'b'.repeat(1000)}\r\n`),
    want: `${getError}${broken}net/http: server response headers exceeded 65536 bytes; aborted`,
  },
  {
    name: 'an endless line',
    serve: (socket) => flood(socket, 'HTTP/1.1 200 OK\r\nA: ', 'b'.repeat(1000)),
    want: `${getError}${broken}net/http: server response headers exceeded 65536 bytes; aborted`,
  },
  { name: 'an endless body', serve: (socket) => flood(socket, 'HTTP/1.1 200 OK\r\n\r\n', 'b'.repeat(1000)), want: 'success: ' },
  {
    name: 'a body that does not come',
    serve: (socket) => socket.write('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n'),
    want: 'failure: context deadline exceeded (Client.Timeout or context cancellation while reading body)',
    isError: true,
  },
  {
    name: 'half a body',
    serve: (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc'),
    want: 'failure: unexpected EOF',
    isError: true,
  },
  {
    name: 'a second response',
    serve: (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 500 No\r\n\r\n'),
    want: 'success: ',
  },
  {
    name: 'endless chunks',
    serve: (socket) => flood(socket, 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', `400\r\n${'x'.repeat(1024)}\r\n`),
    want: 'success: ',
  },
  {
    name: 'a header of 1 MiB',
    serve: (socket) => socket.end(`HTTP/1.1 200 OK\r\nA: ${'b'.repeat(1 << 20)}\r\n\r\n`),
    want: `${getError}${broken}net/http: server response headers exceeded 65536 bytes; aborted`,
  },
  {
    name: 'the text of HTTP/0.9',
    serve: (socket) => socket.end('<html>hello</html>'),
    want: `${getError}${broken}malformed HTTP response "<html>hello</html>"`,
  },
  {
    name: 'a redirect with half a body',
    serve: (socket) => socket.end('HTTP/1.1 302 Found\r\nLocation: ftp://127.0.0.1/x\r\nContent-Length: 5\r\n\r\nab'),
    want: 'failure: Get "ftp://127.0.0.1/x": unsupported protocol scheme "ftp"',
  },
  {
    name: 'endless interim responses',
    serve: (socket) => flood(socket, '', 'HTTP/1.1 100 Continue\r\n\r\n'.repeat(100)),
    want: `${getError}${broken}net/http: server response headers exceeded 65536 bytes; aborted`,
  },
];

/** Writes as long as the client reads. */
function flood(socket: Socket, first: string, piece: string): void {
  socket.write(first);
  const write = () => {
    while (!socket.destroyed && socket.write(piece));
  };
  socket.on('drain', write);
  write();
}

for (const { name, serve, want, isError } of hostile) {
  test(`a server with ${name}`, { timeout: 60_000 }, async () => {
    const port = await raw(serve);
    const result = await attempt(httpAction(port), 0.4);
    assert.equal(output(result, port).replace(/:\d+->/, ':LOCAL->'), want);
    assert.equal(result.isError, isError);
  });
}
