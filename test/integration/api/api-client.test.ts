/** The API client against a real TLS server that behaves well, badly and not at all. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { stringify } from 'yaml';
import { ApiError, type ApiCall, type WatchEvent } from '../../../src/main/api/api-client.ts';
import type { ApiClientOptions, ApiConnection } from '../../../src/main/api/create-api-client.ts';
import { definitions } from '../../../src/shared/metrics/definitions/index.ts';
import { bindMetrics, createMetricsSegment, renderMetrics } from '../../../src/shared/metrics/index.ts';
import { connectTo } from '../../support/api-connection.ts';
import { AnsweringServer, sendJSON } from '../../support/api-answers.ts';
import { ConnectProxy } from '../../support/connect-proxy.ts';
import { FakeClock } from '../../support/fake-clock.ts';

let server: AnsweringServer;
const open: ApiConnection[] = [];
const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a', unknownField: { kept: true } } };
const getPod: ApiCall = { method: 'GET', path: '/api/v1/namespaces/default/pods/a', trafficClass: 'pods' };

before(async () => {
  server = await AnsweringServer.start();
});
afterEach(async () => {
  await Promise.all(open.splice(0).map((connection) => connection.close()));
  server.requests.length = 0;
});
after(() => server.close());

/** A client of the server, by a kubeconfig with this user and these changes to the cluster. */
async function aClient(
  user: object = {},
  { cluster = {}, ...options }: Partial<ApiClientOptions> & { readonly cluster?: object } = {},
): Promise<ApiConnection> {
  const kubeconfigPath = join(server.folder, `kubeconfig-${open.length}`);
  const kubeconfig = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    contexts: [{ name: 'c', context: { cluster: 'k', user: 'u' } }],
    clusters: [{ name: 'k', cluster: { server: server.url, 'certificate-authority': 'ca.crt', ...cluster } }],
    users: [{ name: 'u', user }],
  };
  writeFileSync(kubeconfigPath, stringify(kubeconfig));
  const connection = await connectTo(kubeconfigPath, { environment: { PATH: process.env['PATH'] }, ...options });
  open.push(connection);
  return connection;
}

async function collect<T>(events: AsyncIterable<WatchEvent<T>>): Promise<WatchEvent<T>[]> {
  const seen: WatchEvent<T>[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await sleep(5);
}

const isError = (code: number, reason: string) => (err: unknown) => err instanceof ApiError && err.code === code && err.reason === reason;

test('a pod comes with its unknown fields, over HTTP/2, asked for by the kubelet by name', async () => {
  server.answer = (_request, response) => sendJSON(response, 200, pod);
  const { client } = await aClient({ token: 'secret' });
  assert.deepEqual(await client.call(getPod), pod);
  const [request] = server.requests;
  assert.equal(request?.headers['authorization'], 'Bearer secret');
  assert.match(String(request?.headers['user-agent']), /^kubelet\/v1\.36\.3 \(linux\/\w+\) kubernetes\//);
  assert.equal(request?.protocol, '2.0');
});

test('a status patch has its type, its body and its query', async () => {
  server.answer = (_request, response) => sendJSON(response, 200, pod);
  const { client } = await aClient();
  const query = { fieldManager: 'kubelet', dryRun: undefined };
  await client.call({ ...getPod, method: 'PATCH', path: `${getPod.path}/status`, patch: 'strategic', body: { status: {} }, query });
  const { method, url, headers, body } = server.requests[0]!;
  assert.deepEqual([method, url], ['PATCH', '/api/v1/namespaces/default/pods/a/status?fieldManager=kubelet']);
  assert.deepEqual([headers['content-type'], body], ['application/strategic-merge-patch+json', '{"status":{}}']);
});

test('a server behind a path, known by another name, is asked there as somebody else', async () => {
  server.answer = (_request, response) => sendJSON(response, 200, pod);
  const user = { as: 'jane', 'as-groups': ['a', 'b'], 'as-user-extra': { 'example.org/x': ['1'] } };
  const { client } = await aClient(user, { cluster: { server: `${server.url}/k8s/clusters/c-1/`, 'tls-server-name': 'kubernetes' } });
  await client.call(getPod);
  const { url, headers } = server.requests[0]!;
  assert.equal(url, `/k8s/clusters/c-1${getPod.path}`);
  assert.deepEqual([headers['impersonate-user'], headers['impersonate-group']], ['jane', 'a, b']);
  assert.equal(headers['impersonate-extra-example.org%2fx'], '1');
});

test('a server that its authority did not sign, or whose name is another, is not spoken to', async () => {
  server.answer = (_request, response) => sendJSON(response, 200, pod);
  const { client } = await aClient({ token: 'secret' }, { cluster: { 'tls-server-name': 'elsewhere' } });
  await assert.rejects(client.call(getPod), isError(0, 'Unreachable'));
  const other = await aClient({ token: 'secret' }, { cluster: { 'certificate-authority': undefined } });
  await assert.rejects(other.client.call(getPod), isError(0, 'Unreachable'));
  const insecure = await aClient({}, { cluster: { 'certificate-authority': undefined, 'insecure-skip-tls-verify': true } });
  await insecure.client.call(getPod);
  assert.equal(server.requests.length, 1);
});

test('a kubeconfig that names a file which is not there, or is something else, makes no client', async () => {
  const refused = (want: RegExp) => (err: Error) =>
    err.name === 'ConfigurationError' && err.message.startsWith('kubeconfig "') && want.test(err.message);
  const missing = { 'client-certificate': 'no-such.crt', 'client-key': 'no-such.key' };
  await assert.rejects(aClient(missing), refused(/client certificate: ENOENT.*no-such\.crt/));
  await assert.rejects(aClient({ tokenFile: 'no-such-token' }), refused(/failed to read token file ".*no-such-token"/));
  await assert.rejects(aClient({ tokenFile: '/dev/zero' }), refused(/not a regular file/));
  await assert.rejects(aClient({}, { cluster: { 'certificate-authority': 'ca.key' } }), refused(/ca\.key: has no certificate in PEM/));
  await assert.rejects(aClient({}, { cluster: { 'certificate-authority': './' } }), refused(/not a regular file|EISDIR/));
  await assert.rejects(aClient({}, { kubeconfigPath: '/no/such/kubeconfig' }), refused(/ENOENT/));
});

test('what the server says of a failure is the error, and what a proxy says is quoted', async () => {
  const { client } = await aClient();
  const status = { kind: 'Status', apiVersion: 'v1', status: 'Failure', code: 404, reason: 'NotFound', message: 'pods "a" not found' };
  server.answer = (_request, response) => sendJSON(response, 404, status);
  await assert.rejects(client.call(getPod), { code: 404, reason: 'NotFound', message: 'pods "a" not found' });
  server.answer = (_request, response) => void response.writeHead(502).end('<html>\n<h1>Bad Gateway</h1>');
  await assert.rejects(client.call(getPod), { code: 502, reason: 'InternalError', message: /Bad Gateway/ });
  server.answer = (_request, response) => void response.writeHead(200).end('<html>');
  await assert.rejects(client.call(getPod), isError(200, 'Unreadable'));
});

test('a server that asks to come again later is asked again, also to create', async () => {
  server.answer = (_request, response) =>
    server.requests.length < 3 ? sendJSON(response, 429, {}, { 'retry-after': '0' }) : sendJSON(response, 201, pod);
  const { client } = await aClient();
  assert.deepEqual(await client.call({ ...getPod, method: 'POST', body: pod }), pod);
  assert.equal(server.requests.length, 3);
});

test('a 500 without a time to come again is the answer', async () => {
  server.answer = (_request, response) => sendJSON(response, 500, {});
  const { client } = await aClient();
  await assert.rejects(client.call(getPod), isError(500, 'InternalError'));
  assert.equal(server.requests.length, 1);
});

test('who waits for the server hears of its first answer after a while of failures, to a call or a watch', async () => {
  const clock = new FakeClock();
  const { client } = await aClient({}, { clock });
  let returns = 0;
  client.onReturn(() => (returns += 1));
  for (const fails of ['with 503', 'without an answer']) {
    server.answer = (_request, response) => (fails === 'with 503' ? sendJSON(response, 503, {}) : server.cut());
    await assert.rejects(client.call({ ...getPod, maxAttempts: 1 }));
    await clock.advance(3000);
    const before = returns;
    server.answer = (_request, response) => sendJSON(response, 404, {});
    await assert.rejects(client.call({ ...getPod, maxAttempts: 1 }));
    assert.equal(returns, before);
    server.answer = (_request, response) => void response.writeHead(200).end('{"type":"ADDED","object":{}}\n');
    if (fails === 'with 503') await client.call(getPod);
    else await collect(client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal: AbortSignal.timeout(10_000) }));
    assert.equal(returns, before + 1);
  }
});

test('a connection cut before the answer: a GET is made again, a POST is not', async () => {
  server.answer = (_request, response) => (server.requests.length === 1 ? server.cut() : sendJSON(response, 200, pod));
  const { client } = await aClient();
  assert.deepEqual(await client.call(getPod), pod);
  server.requests.length = 0;
  await assert.rejects(client.call({ ...getPod, method: 'POST', body: pod }), isError(0, 'Unreachable'));
  assert.equal(server.requests.length, 1);
});

test('an answer cut in the middle is no answer', async () => {
  server.answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.write('{"apiVersion":"v1",');
    setTimeout(() => server.cut(), 20);
  };
  const { client } = await aClient();
  await assert.rejects(client.call({ ...getPod, maxAttempts: 1 }), isError(0, 'Unreachable'));
});

test('a hanging answer ends at its deadline, and the next call goes well', async () => {
  server.answer = (_request, response) => (server.requests.length === 1 ? undefined : sendJSON(response, 200, pod));
  const { client } = await aClient();
  await assert.rejects(client.call({ ...getPod, deadlineMs: 50 }), isError(0, 'Timeout'));
  assert.deepEqual(await client.call(getPod), pod);
});

test('an answer that drips slower than its deadline ends there', async () => {
  server.answer = (_request, response) => {
    response.writeHead(200);
    const timer = setInterval(() => response.write(' '), 10);
    response.on('close', () => clearInterval(timer));
  };
  const { client } = await aClient();
  await assert.rejects(client.call({ ...getPod, deadlineMs: 80 }), isError(0, 'Timeout'));
});

test('a lease goes out while slow pod calls hold every slot', async () => {
  server.answer = (request, response) => {
    if (request.url.includes('leases')) sendJSON(response, 200, {});
  };
  const { client, close } = await aClient({}, { kubeAPIQPS: 1, kubeAPIBurst: 70 });
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

test('a call that its caller gives up ends with the reason given', async () => {
  server.answer = () => {};
  const { client } = await aClient();
  const controller = new AbortController();
  const call = client.call({ ...getPod, signal: controller.signal });
  setTimeout(() => controller.abort(new Error('enough')), 20);
  await assert.rejects(call, { message: 'enough' });
});

test('a server that goes away politely loses no call', async () => {
  server.answer = (_request, response) => void setTimeout(() => sendJSON(response, 200, pod), 5);
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

test('a token file that was renewed is read again after a 401, and the call is made once more', async () => {
  const tokenFile = join(server.folder, 'token');
  writeFileSync(tokenFile, 'old\n');
  let good = 'old';
  server.answer = (request, response) => sendJSON(response, request.headers['authorization'] === `Bearer ${good}` ? 200 : 401, pod);
  const { client } = await aClient({ tokenFile: 'token' });
  await client.call(getPod);
  writeFileSync(tokenFile, 'new\n');
  good = 'new';
  await client.call({ ...getPod, method: 'POST', body: pod });
  good = 'other';
  await assert.rejects(client.call(getPod), isError(401, 'Unauthorized'));
  assert.deepEqual(
    server.requests.map((request) => request.headers['authorization']),
    ['old', 'old', 'new', 'new'].map((token) => `Bearer ${token}`),
  );
});

test('an exec plugin is told of the cluster, and its token is used', async () => {
  const seen = join(server.folder, 'exec-info');
  const script = `echo "$KUBERNETES_EXEC_INFO" > ${seen}; printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s"}}' "$TOKEN"`;
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    interactiveMode: 'Never',
    command: 'sh',
    args: ['-c', script],
    env: [{ name: 'TOKEN', value: 'made' }],
    provideClusterInfo: true,
  };
  server.answer = (_request, response) => sendJSON(response, 200, pod);
  const { client } = await aClient({ exec });
  await client.call(getPod);
  assert.equal(server.requests[0]?.headers['authorization'], 'Bearer made');
  const { spec } = JSON.parse(readFileSync(seen, 'utf8')) as { spec: { interactive: boolean; cluster: Record<string, string> } };
  assert.deepEqual([spec.interactive, spec.cluster['server']], [false, server.url]);
  assert.deepEqual(Buffer.from(spec.cluster['certificate-authority-data']!, 'base64'), readFileSync(server.authority.certFile));
});

test('an exec plugin that is missing or fails names itself, and nothing is sent', async () => {
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    interactiveMode: 'Never',
    command: './no-such-plugin',
    installHint: 'install it',
  };
  const missing = await aClient({ exec });
  await assert.rejects(missing.client.call(getPod), {
    code: 0,
    reason: 'Unauthorized',
    message: /no-such-plugin not found \(install it\)/,
  });
  const failing = await aClient({ exec: { ...exec, command: 'sh', args: ['-c', 'echo no such profile >&2; exit 3'] } });
  await assert.rejects(failing.client.call(getPod), { message: /sh failed with exit code 3: no such profile/ });
  assert.equal(server.requests.length, 0);
});

test('a client certificate that was renewed is shown by new connections', async () => {
  const usages = ['clientAuth'] as const;
  const [old, renewed] = ['old', 'renewed'].map((name) => server.authority.issue(name, { commonName: name, usages }));
  const current = join(server.folder, 'kubelet-client-current.pem');
  const put = (files: typeof old) => writeFileSync(current, readFileSync(files!.certFile) + '' + readFileSync(files!.keyFile));
  put(old);
  server.answer = (request, response) => sendJSON(response, request.client === 'old' && server.requests.length > 1 ? 401 : 200, pod);
  const { client } = await aClient({ 'client-certificate': current, 'client-key': current });
  await client.call(getPod);
  put(renewed);
  await client.call(getPod);
  assert.deepEqual(
    server.requests.map(({ client: shown }) => shown),
    ['old', 'old', 'renewed'],
  );
});

test('a renewal that is half done leaves the old certificate in use, until it is whole', async () => {
  const [old, renewed] = ['half-old', 'half-renewed'].map((name) =>
    server.authority.issue(name, { commonName: name, usages: ['clientAuth'] }),
  );
  const paths = { certificate: join(server.folder, 'client.crt'), key: join(server.folder, 'client.key') };
  const put = (certificate: string, key: string) => {
    writeFileSync(paths.certificate, readFileSync(certificate));
    writeFileSync(paths.key, readFileSync(key));
  };
  put(old!.certFile, old!.keyFile);
  server.answer = (_request, response) => sendJSON(response, 200, pod);
  const clock = new FakeClock();
  const { client } = await aClient({ 'client-certificate': paths.certificate, 'client-key': paths.key }, { clock });
  await client.call(getPod);
  for (const key of [old!.keyFile, renewed!.keyFile]) {
    put(renewed!.certFile, key);
    await clock.advance(10_000);
    await client.call(getPod);
  }
  assert.deepEqual(
    server.requests.map(({ client: shown }) => shown),
    ['half-old', 'half-old', 'half-renewed'],
  );
});

test('events of a watch come as they are sent, and its end is the end', async () => {
  server.answer = (_request, response) => {
    response.writeHead(200);
    const lines = ['ADDED', 'MODIFIED', 'BOOKMARK'].map((type) => `${JSON.stringify({ type, object: pod })}\n`).join('');
    response.write(lines.slice(0, 40));
    setTimeout(() => response.end(lines.slice(40)), 10);
  };
  const { client } = await aClient();
  const { signal } = new AbortController();
  const events = await collect(client.watch({ path: '/api/v1/pods', query: { timeoutSeconds: 300 }, trafficClass: 'pods', signal }));
  assert.deepEqual(
    events.map(({ type }) => type),
    ['ADDED', 'MODIFIED', 'BOOKMARK'],
  );
  assert.equal(server.requests[0]?.url, '/api/v1/pods?timeoutSeconds=300&watch=true');
});

for (const { name, end, reason } of [
  { name: 'ended by the server in mid-object', end: 'end', reason: 'Unreadable' },
  { name: 'cut with its connection', end: 'cut', reason: 'Unreachable' },
]) {
  test(`a watch ${name} gives its events and then an error`, async () => {
    server.answer = (_request, response) => {
      response.writeHead(200);
      response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n{"type":"MODIF`);
      setTimeout(() => (end === 'end' ? response.end() : server.cut()), 20);
    };
    const { client } = await aClient();
    const seen: unknown[] = [];
    await assert.rejects(
      async () => {
        const { signal } = new AbortController();
        for await (const event of client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal })) seen.push(event);
      },
      isError(0, reason),
    );
    assert.equal(seen.length, 1);
  });
}

test('a watch that the server refuses says why and when to come again', async () => {
  const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
  server.answer = (_request, response) => sendJSON(response, 410, status, { 'retry-after': '3' });
  const { client } = await aClient();
  const { signal } = new AbortController();
  await assert.rejects(collect(client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal })), {
    code: 410,
    reason: 'Expired',
    retryAfterMs: 3000,
  });
});

test('a watch ends at once when its reader aborts or goes', async () => {
  let closed = 0;
  server.answer = (_request, response) => {
    response.writeHead(200);
    response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
    response.on('close', () => (closed += 1));
  };
  const { client } = await aClient();
  const controller = new AbortController();
  const call = { path: '/api/v1/pods', trafficClass: 'pods', signal: controller.signal } as const;
  for await (const _ of client.watch(call)) break;
  setTimeout(() => controller.abort(), 30);
  assert.equal((await collect(client.watch(call))).length, 1);
  await until(() => closed >= 2);
});

test('a hundred watches and the calls beside them need two connections', async () => {
  server.answer = (request, response) => {
    if (!request.url.includes('watch=true')) return sendJSON(response, 200, pod);
    response.writeHead(200);
    response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
  };
  const { client } = await aClient();
  const before = server.connections;
  const controller = new AbortController();
  let begun = 0;
  const watches = Array.from({ length: 100 }, async (_, i) => {
    const path = `/api/v1/namespaces/n/secrets/s${i}`;
    for await (const _event of client.watch({ path, trafficClass: 'values', signal: controller.signal })) begun += 1;
  });
  await until(() => begun >= 100);
  await client.call(getPod);
  assert.equal(server.connections - before, 2);
  controller.abort();
  await Promise.all(watches);
});

test('more watches than the server allows on a connection get another connection', async () => {
  const usual = server;
  server = await AnsweringServer.start({ maxStreams: 20 });
  try {
    server.answer = (_request, response) => {
      response.writeHead(200);
      response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
    };
    const { client } = await aClient();
    const controller = new AbortController();
    let begun = 0;
    const watches = Array.from({ length: 50 }, async () => {
      for await (const _ of client.watch({ path: '/api/v1/pods', trafficClass: 'values', signal: controller.signal })) begun += 1;
    });
    await until(() => begun === 50);
    assert.equal(server.connections, 3);
    controller.abort();
    await Promise.all(watches);
  } finally {
    await server.close();
    server = usual;
  }
});

test('a peer that vanished without a word is noticed by pings: its watch ends, and the next one goes another way', async () => {
  server.answer = (_request, response) => {
    response.writeHead(200);
    response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
  };
  const wire = await BlackHole.before(server.port);
  try {
    const { client } = await aClient({}, { cluster: { server: `https://127.0.0.1:${wire.port}` }, pingIntervalMs: 30 });
    const { signal } = new AbortController();
    await assert.rejects(
      async () => {
        for await (const _ of client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal })) wire.swallows = true;
      },
      isError(0, 'Unreachable'),
    );
    wire.swallows = false;
    for await (const _ of client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal })) break;
  } finally {
    await wire.close();
  }
});

test('after a failed heartbeat calls go over a new connection', async () => {
  server.answer = (_request, response) => sendJSON(response, 200, pod);
  const { client, renewConnections } = await aClient();
  await client.call(getPod);
  const before = server.connections;
  renewConnections();
  await client.call(getPod);
  assert.equal(server.connections, before + 1);
});

test('with DISABLE_HTTP2 all goes over HTTP/1.1, watches on connections of their own', async () => {
  server.answer = (request, response) => {
    if (!request.url.includes('watch=true')) return sendJSON(response, 200, pod);
    response.writeHead(200);
    response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
  };
  const { client } = await aClient({}, { environment: { DISABLE_HTTP2: '1' } });
  const controller = new AbortController();
  let begun = 0;
  const watches = Array.from({ length: 5 }, async () => {
    for await (const _ of client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal: controller.signal })) begun += 1;
  });
  await until(() => begun >= 5);
  await Promise.all(Array.from({ length: 10 }, () => client.call(getPod)));
  assert.deepEqual(new Set(server.requests.map(({ protocol }) => protocol)), new Set(['1.1']));
  controller.abort();
  await Promise.all(watches);
});

for (const { name, cluster, environment } of [
  { name: 'of the kubeconfig', cluster: (url: string) => ({ 'proxy-url': url }), environment: () => ({}) },
  { name: 'of the environment', cluster: () => ({}), environment: (url: string) => ({ HTTPS_PROXY: url, NO_PROXY: 'example.org' }) },
]) {
  test(`calls and watches go through the proxy ${name}, and TLS ends at the server`, async () => {
    server.answer = (request, response) => {
      if (!request.url.includes('watch=true')) return sendJSON(response, 200, pod);
      response.writeHead(200);
      response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
    };
    const proxy = await ConnectProxy.start();
    try {
      const elsewhere = { ...cluster(proxy.url), server: `https://api.example:${server.port}`, 'tls-server-name': 'kubernetes' };
      const { client } = await aClient({ token: 'secret' }, { cluster: elsewhere, environment: environment(proxy.url) });
      assert.deepEqual(await client.call(getPod), pod);
      const { signal } = new AbortController();
      for await (const _ of client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal })) break;
      assert.deepEqual(new Set(proxy.tunnels), new Set([`api.example:${server.port}`]));
      assert.equal(server.requests[0]?.headers['authorization'], 'Bearer secret');
    } finally {
      await proxy.close();
    }
  });
}

test('this host itself is not asked for at the proxy of the environment', async () => {
  server.answer = (_request, response) => sendJSON(response, 200, pod);
  const { client } = await aClient({}, { environment: { HTTPS_PROXY: 'http://127.0.0.1:1' } });
  assert.deepEqual(await client.call(getPod), pod);
});

test('a watch that is silent for longer than the server said it would last ends', async () => {
  server.answer = (_request, response) => {
    response.writeHead(200);
    response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n`);
  };
  const clock = new FakeClock();
  const { client } = await aClient({}, { clock });
  const { signal } = new AbortController();
  const watch = client.watch({ path: '/api/v1/pods', query: { timeoutSeconds: 60 }, trafficClass: 'pods', signal })[Symbol.asyncIterator]();
  assert.equal((await watch.next()).done, false);
  const next = watch.next();
  await clock.advance(89_000);
  assert.equal(await Promise.race([next, sleep(50, 'silent')]), 'silent');
  await clock.advance(2_000);
  await assert.rejects(next, isError(0, 'Timeout'));
});

test('an authority that was renewed is heeded by new connections, and a broken file changes nothing', async () => {
  server.answer = (_request, response) => sendJSON(response, 200, pod);
  const file = join(server.folder, 'renewed-ca.crt');
  const authority = readFileSync(server.authority.certFile);
  writeFileSync(file, authority);
  const clock = new FakeClock();
  const { client } = await aClient({}, { cluster: { 'certificate-authority': file }, clock });
  await client.call(getPod);
  const before = server.connections;
  const steps: [content: string | Buffer, newConnections: number][] = [
    ['no certificate', 0],
    ['', 0],
    [authority, 0],
    [Buffer.concat([authority, Buffer.from('\n')]), 1],
  ];
  for (const [content, made] of steps) {
    writeFileSync(file, content);
    await clock.advance(5 * 60_000);
    await client.call(getPod);
    assert.equal(server.connections - before, made);
  }
});

test('each attempt is counted with its code, each call with its time', async (t) => {
  const segment = createMetricsSegment();
  bindMetrics(segment);
  t.after(() => bindMetrics(null));
  server.answer = (_request, response) =>
    server.requests.length === 1 ? sendJSON(response, 429, {}, { 'retry-after': '0' }) : sendJSON(response, 200, pod);
  const { client, host } = await aClient();
  await client.call({ ...getPod, method: 'PATCH', patch: 'merge', body: {} });
  server.answer = () => server.cut();
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

test('a server that is not there is said to be unreachable, soon', async () => {
  const { client } = await aClient({}, { cluster: { server: 'https://127.0.0.1:1' } });
  await assert.rejects(
    client.call({ ...getPod, method: 'POST', body: pod }),
    (err) => isError(0, 'Unreachable')(err) && /ECONNREFUSED/.test(String(err)),
  );
});

/** A wire to a server that can be made to swallow everything. */
class BlackHole {
  swallows = false;
  readonly #sockets: Socket[] = [];
  readonly #server: Server;

  private constructor(target: number) {
    this.#server = createServer((near) => {
      const far = connect(target, '127.0.0.1');
      for (const [from, to] of [
        [near, far],
        [far, near],
      ] as const) {
        this.#sockets.push(from);
        let isDead = false;
        from.on('data', (chunk) => void ((isDead ||= this.swallows) || to.write(chunk)));
        from.on('error', () => {}).on('close', () => to.destroy());
      }
    });
  }

  static async before(target: number): Promise<BlackHole> {
    const wire = new BlackHole(target);
    await new Promise<void>((resolve) => wire.#server.listen(0, '127.0.0.1', resolve));
    return wire;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
