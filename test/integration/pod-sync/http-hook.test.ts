/** Sends HTTP requests of lifecycle hooks to servers on this host. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test, type TestContext } from 'node:test';
import { toHookRequest, httpGet, isPlainHttpResponse } from '../../../src/workers/pod-sync/hooks/http-get.ts';

async function aServer(t: TestContext, listener: RequestListener) {
  const requests: IncomingMessage[] = [];
  const server = createServer((request, response) => {
    requests.push(request);
    listener(request, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { requests, port: (server.address() as AddressInfo).port };
}
const never = new AbortController().signal;

test('any response is a success, whatever its status', async (t) => {
  const { requests, port } = await aServer(t, (_, response) => response.writeHead(503).end('busy'.repeat(10_000)));
  await httpGet(toHookRequest({ port, path: '/bye?x=1' }, [], '127.0.0.1'), never);
  assert.deepEqual(
    requests.map(({ method, url, headers }) => `${method} ${url} ${headers['user-agent']} ${headers.accept}`),
    ['GET /bye?x=1 kube-lifecycle/1.36 */*'],
  );
});

test('a redirect is followed on the same host, and no further than ten times', async (t) => {
  const { requests, port } = await aServer(t, (request, response) => {
    const step = Number(request.url?.slice(1));
    if (step === 3) response.writeHead(302, { location: 'http://example.test/elsewhere' }).end();
    else response.writeHead(302, { location: `/${step + 1}` }).end();
  });
  await httpGet(toHookRequest({ port, path: '/0' }, [], '127.0.0.1'), never);
  assert.deepEqual(
    requests.map(({ url }) => url),
    ['/0', '/1', '/2', '/3'],
  );
  await assert.rejects(httpGet(toHookRequest({ port, path: '/4' }, [], '127.0.0.1'), never), /stopped after 10 redirects/);
});

test('a plain HTTP response to an HTTPS request is recognized', async (t) => {
  const { port } = await aServer(t, (_, response) => response.end());
  const err = await httpGet(toHookRequest({ port, scheme: 'HTTPS' }, [], '127.0.0.1'), never).catch((caught: unknown) => caught);
  assert.ok(isPlainHttpResponse(err), String(err));
});

test('a request without a response rejects when its signal aborts', async (t) => {
  const { port } = await aServer(t, () => {});
  await assert.rejects(httpGet(toHookRequest({ port }, [], '127.0.0.1'), AbortSignal.timeout(50)), { name: 'TimeoutError' });
});

test('a refused connection is reported', async () => {
  await assert.rejects(httpGet(toHookRequest({ port: 1 }, [], '127.0.0.1'), never), /ECONNREFUSED/);
});
