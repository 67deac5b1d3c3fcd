/** Calls of the API client: requests, responses, failures, deadlines and limits. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { maxResponseBytes } from '../../../src/main/api/http/request-attempt.ts';
import { definitions } from '../../../src/shared/metrics/definitions/all-definitions.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../src/shared/metrics/index.ts';
import { sendJSON } from '../../support/api-server/scripted-api-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aClient, collect, getPod, isError, pod, server, useServer } from '../../support/api-server/api-client-suite.ts';
import { kubernetesVersion } from '../../../src/shared/kubernetes/version.ts';

useServer();

test('a pod is returned with its unknown fields, over HTTP/2, with the kubelet’s user agent', async () => {
  server.handle = (_request, response) => sendJSON(response, 200, pod);
  const { client } = await aClient({ token: 'secret' });
  assert.deepEqual(await client.call(getPod), pod);
  const [request] = server.requests;
  assert.equal(request?.headers['authorization'], 'Bearer secret');
  assert.match(String(request?.headers['user-agent']), new RegExp(`^kubelet/${kubernetesVersion} \\(linux/\\w+\\) kubernetes/`));
  assert.equal(request?.protocol, '2.0');
});

test('a status patch has its type, its body and its query', async () => {
  server.handle = (_request, response) => sendJSON(response, 200, pod);
  const { client } = await aClient();
  const query = { fieldManager: 'kubelet', dryRun: undefined };
  await client.call({ ...getPod, method: 'PATCH', path: `${getPod.path}/status`, patch: 'strategic', body: { status: {} }, query });
  const { method, url, headers, body } = server.requests[0]!;
  assert.deepEqual([method, url], ['PATCH', '/api/v1/namespaces/default/pods/a/status?fieldManager=kubelet']);
  assert.deepEqual([headers['content-type'], body], ['application/strategic-merge-patch+json', '{"status":{}}']);
});

test('a call asks for only the metadata of the answer, or for the object from a server that cannot', async () => {
  server.handle = (_request, response) => sendJSON(response, 200, pod);
  const { client } = await aClient();
  await client.call({ ...getPod, answer: 'metadata' });
  assert.equal(server.requests[0]?.headers['accept'], 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json');
});

test('a server with a path prefix and another TLS name is called with impersonation', async () => {
  server.handle = (_request, response) => sendJSON(response, 200, pod);
  const user = { as: 'jane', 'as-groups': ['a', 'b'], 'as-user-extra': { 'example.org/x': ['1'] } };
  const { client } = await aClient(user, { cluster: { server: `${server.url}/k8s/clusters/c-1/`, 'tls-server-name': 'kubernetes' } });
  await client.call(getPod);
  const { url, headers } = server.requests[0]!;
  assert.equal(url, `/k8s/clusters/c-1${getPod.path}`);
  assert.deepEqual([headers['impersonate-user'], headers['impersonate-group']], ['jane', 'a, b']);
  assert.equal(headers['impersonate-extra-example.org%2fx'], '1');
});

test('the server’s Status becomes the error, and a proxy’s page is quoted', async () => {
  const { client } = await aClient();
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 404, reason: 'NotFound', message: 'pods "a" not found' };
  server.handle = (_request, response) => sendJSON(response, 404, status);
  await assert.rejects(client.call(getPod), { code: 404, reason: 'NotFound', message: 'pods "a" not found' });
  server.handle = (_request, response) => void response.writeHead(502).end('<html>\n<h1>Bad Gateway</h1>');
  await assert.rejects(client.call(getPod), { code: 502, reason: 'InternalError', message: /Bad Gateway/ });
  server.handle = (_request, response) => void response.writeHead(200).end('<html>');
  await assert.rejects(client.call(getPod), isError(200, 'Unreadable'));
});

test('a call with Retry-After is retried, also a create', async () => {
  server.handle = (_request, response) =>
    server.requests.length < 3 ? sendJSON(response, 429, {}, { 'retry-after': '0' }) : sendJSON(response, 201, pod);
  const { client } = await aClient();
  assert.deepEqual(await client.call({ ...getPod, method: 'POST', body: pod }), pod);
  assert.equal(server.requests.length, 3);
});

test('a 500 without Retry-After is not retried', async () => {
  server.handle = (_request, response) => sendJSON(response, 500, {});
  const { client } = await aClient();
  await assert.rejects(client.call(getPod), isError(500, 'InternalError'));
  assert.equal(server.requests.length, 1);
});

test('the first response after an outage, to a call or a watch, notifies listeners of the recovery', async () => {
  const clock = new FakeClock();
  const { client } = await aClient({}, { clock });
  let recoveries = 0;
  client.onRecovery(() => (recoveries += 1));
  for (const fails of ['with 503', 'without an answer']) {
    server.handle = (_request, response) => (fails === 'with 503' ? sendJSON(response, 503, {}) : server.destroyConnections());
    await assert.rejects(client.call({ ...getPod, maxAttempts: 1 }));
    await clock.advance(3000);
    const before = recoveries;
    server.handle = (_request, response) => sendJSON(response, 404, {});
    await assert.rejects(client.call({ ...getPod, maxAttempts: 1 }));
    assert.equal(recoveries, before);
    server.handle = (_request, response) => void response.writeHead(200).end('{"type":"ADDED","object":{}}\n');
    if (fails === 'with 503') await client.call(getPod);
    else await collect(client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal: AbortSignal.timeout(10_000) }));
    assert.equal(recoveries, before + 1);
  }
});

test('after a connection lost before the response, a GET is retried and a POST is not', async () => {
  server.handle = (_request, response) => (server.requests.length === 1 ? server.destroyConnections() : sendJSON(response, 200, pod));
  const { client } = await aClient();
  assert.deepEqual(await client.call(getPod), pod);
  server.requests.length = 0;
  await assert.rejects(client.call({ ...getPod, method: 'POST', body: pod }), isError(0, 'Unreachable'));
  assert.equal(server.requests.length, 1);
});

test('a truncated response is an error', async () => {
  server.handle = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"apiVersion":"v1",');
    setTimeout(() => server.destroyConnections(), 20);
  };
  const { client } = await aClient();
  await assert.rejects(client.call({ ...getPod, maxAttempts: 1 }), isError(0, 'Unreachable'));
});

test('a compressed response is read, and bounded by its decompressed size', async () => {
  server.handle = (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.end(gzipSync(JSON.stringify(pod)));
  };
  const { client } = await aClient();
  assert.deepEqual(await client.call(getPod), pod);
  assert.equal(server.requests[0]?.headers['accept-encoding'], 'gzip');
  server.handle = (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.end(gzipSync(Buffer.alloc(maxResponseBytes + 1, ' ')));
  };
  await assert.rejects(client.call(getPod), isError(0, 'TooLarge'));
});

test('a hanging call fails at its deadline, and the next call succeeds', async () => {
  server.handle = (_request, response) => (server.requests.length === 1 ? undefined : sendJSON(response, 200, pod));
  const { client } = await aClient();
  await assert.rejects(client.call({ ...getPod, deadlineMs: 50 }), isError(0, 'Timeout'));
  assert.deepEqual(await client.call(getPod), pod);
});

test('a slow response fails at the deadline', async () => {
  server.handle = (_request, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write(' '), 10);
    response.on('close', () => clearInterval(timer));
  };
  const { client } = await aClient();
  await assert.rejects(client.call({ ...getPod, deadlineMs: 80 }), isError(0, 'Timeout'));
});

test('a lease is sent while slow pod calls occupy every slot', async () => {
  server.handle = (request, response) => {
    if (request.url.includes('leases')) sendJSON(response, 200, {});
  };
  const { client, close } = await aClient({}, { rateLimits: { kubeAPIQPS: 1, kubeAPIBurst: 70, eventRecordQPS: 50, eventBurst: 100 } });
  const slow = Array.from({ length: 100 }, () => client.call(getPod).catch((err: unknown) => err));
  await client.call({
    method: 'PUT',
    path: '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/n',
    body: {},
    trafficClass: 'lease',
  });
  await close();
  for (const err of await Promise.all(slow)) assert.ok(isError(0, 'Unreachable')(err));
});

test('an aborted call rejects with the signal’s reason', async () => {
  server.handle = () => {};
  const { client } = await aClient();
  const controller = new AbortController();
  const call = client.call({ ...getPod, signal: controller.signal });
  setTimeout(() => controller.abort(new Error('enough')), 20);
  await assert.rejects(call, { message: 'enough' });
});

test('a graceful shutdown of the server loses no call', async () => {
  server.handle = (_request, response) => void setTimeout(() => sendJSON(response, 200, pod), 5);
  const { client } = await aClient();
  const calls: Promise<unknown>[] = [];
  for (let i = 0; i < 60; i += 1) {
    calls.push(client.call({ ...getPod, method: 'PATCH', patch: 'merge', body: {} }));
    if (i % 20 === 10) for (const session of server.sessions) session.goaway(0);
    if (i % 20 === 15) for (const session of server.sessions) session.close();
    await sleep(1);
  }
  assert.equal((await Promise.all(calls)).length, 60);
});

test('each attempt is counted with its code, each call with its duration', async (t) => {
  const segment = createMetricsSegment();
  bindMetrics(segment);
  t.after(() => bindMetrics(null));
  server.handle = (_request, response) =>
    server.requests.length === 1 ? sendJSON(response, 429, {}, { 'retry-after': '0' }) : sendJSON(response, 200, pod);
  const { client, host } = await aClient();
  await client.call({ ...getPod, method: 'PATCH', patch: 'merge', body: {} });
  server.handle = () => server.destroyConnections();
  await assert.rejects(client.call({ ...getPod, maxAttempts: 1 }));
  const rendered = renderMetrics([segment], definitions).split('\n');
  for (const line of [
    `rest_client_requests_total{code="429",host="${host}",method="PATCH"} 1`,
    `rest_client_requests_total{code="200",host="${host}",method="PATCH"} 1`,
    `rest_client_requests_total{code="<error>",host="${host}",method="GET"} 1`,
    `rest_client_request_retries_total{code="200",host="${host}",verb="PATCH"} 1`,
    `rest_client_request_duration_seconds_count{host="${host}",verb="PATCH"} 1`,
    `rest_client_rate_limiter_duration_seconds_count{host="${host}",verb="PATCH"} 2`,
    `rest_client_request_size_bytes_sum{host="${host}",verb="PATCH"} 4`,
    `rest_client_response_size_bytes_count{host="${host}",verb="PATCH"} 2`,
    'rest_client_transport_create_calls_total{result="miss"} 1',
    'rest_client_transport_cache_entries 1',
    'rest_client_exec_plugin_ttl_seconds +Inf',
  ])
    assert.ok(rendered.includes(line), line);
});

test('an unavailable server is soon reported as unreachable', async () => {
  const { client } = await aClient({}, { cluster: { server: 'https://127.0.0.1:1' } });
  await assert.rejects(
    client.call({ ...getPod, method: 'POST', body: pod }),
    (err) => isError(0, 'Unreachable')(err) && /ECONNREFUSED/.test(String(err)),
  );
});
