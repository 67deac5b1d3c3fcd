/** Sends HTTP requests of lifecycle hooks to servers on this host. */
import assert from 'node:assert/strict';
import dns from 'node:dns';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createRawServer, type Socket } from 'node:net';
import { test, type TestContext } from 'node:test';
import { listen } from '../../support/server/listen.ts';
import type { HttpGetAction } from '../../../src/shared/http-get/request-parts.ts';
import { toHttpGet } from '../../../src/shared/http-get/request-parts.ts';
import { httpGet, isPlainHttpResponse } from '../../../src/workers/pod-sync/pod/hook-request.ts';
import { kubernetesMinor } from '../../../src/shared/kubernetes/version.ts';

async function aServer(t: TestContext, listener: RequestListener) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  return { requests, port: await listen(t, server) };
}
const aRawServer = (t: TestContext, serve: (socket: Socket) => void) =>
  listen(
    t,
    createRawServer((socket) => socket.once('data', () => serve(socket))),
  );
const never = new AbortController().signal;
const get = (action: HttpGetAction, signal = never) => httpGet(toHttpGet(action, [], '127.0.0.1', 'lifecycle'), signal);

test('any response is a success, whatever its status', async (t) => {
  const { requests, port } = await aServer(t, (_, response) => response.writeHead(503).end('busy'.repeat(10_000)));
  await get({ port, path: '/bye?x=1' });
  assert.deepEqual(
    requests.map(({ method, url, headers }) => `${method} ${url} ${headers['user-agent']} ${headers.accept} ${headers['accept-encoding']}`),
    [`GET /bye?x=1 kube-lifecycle/${kubernetesMinor} */* gzip`],
  );
});

test('a response with half a body is a success', async (t) => {
  const port = await aRawServer(t, (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc'));
  await get({ port });
});

test('a redirect is followed on the same host, and no further than ten times', async (t) => {
  const { requests, port } = await aServer(t, (request, response) => {
    const step = Number(request.url?.slice(1));
    if (step === 3) response.writeHead(302, { location: 'http://example.test/elsewhere' }).end();
    else response.writeHead(302, { location: `/${step + 1}` }).end();
  });
  await get({ port, path: '/0' });
  assert.deepEqual(
    requests.map(({ url }) => url),
    ['/0', '/1', '/2', '/3'],
  );
  await assert.rejects(get({ port, path: '/4' }), { message: 'Get "/14": stopped after 10 redirects' });
});

test('a plain HTTP response to an HTTPS request is recognized, and no other protocol is taken for it', async (t) => {
  const { port } = await aServer(t, (_, response) => response.end());
  const failureOf = (action: HttpGetAction) => get(action).catch((caught: unknown) => caught);
  const err = await failureOf({ port, scheme: 'HTTPS' });
  assert.ok(isPlainHttpResponse(err), String(err));
  const ssh = await aRawServer(t, (socket) => socket.end('SSH-2.0-server\r\n'));
  const other = await failureOf({ port: ssh, scheme: 'HTTPS' });
  assert.ok(!isPlainHttpResponse(other), String(other));
  assert.match(String(other), /tls: first record does not look like a TLS handshake$/);
});

test('a request without a response rejects when its signal aborts, and closes its connection', async (t) => {
  const closed = Promise.withResolvers<void>();
  const port = await aRawServer(t, (socket) => socket.on('close', () => closed.resolve()));
  await assert.rejects(get({ port }, AbortSignal.timeout(50)), { name: 'TimeoutError' });
  await closed.promise;
  await assert.rejects(get({ port }, AbortSignal.abort(new Error('stopped'))), { message: 'stopped' });
});

test('a refused connection is reported as Go reports it', async () => {
  await assert.rejects(get({ port: 1 }), { message: 'Get "http://127.0.0.1:1/": dial tcp 127.0.0.1:1: connect: connection refused' });
});

test('a header with a line break is not sent', async (t) => {
  const { requests, port } = await aServer(t, (_, response) => response.end());
  await assert.rejects(get({ port, httpHeaders: [{ name: 'A', value: 'b\r\nC: d' }] }), /invalid header field value for "A"$/);
  assert.equal(requests.length, 0);
});

test('a host name occupies no thread of the process while its name server is slow', async (t) => {
  const { requests, port } = await aServer(t, (_, response) => response.end());
  const lookup = t.mock.method(dns, 'lookup');
  await get({ port, host: 'localhost' });
  assert.equal(requests[0]?.headers.host, `localhost:${port}`);
  assert.equal(lookup.mock.callCount(), 0);
});
