import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { after, test } from 'node:test';
import { ServerThread, ThreadState } from '../../../src/main/threads/index.ts';
import type { ListenAddress, ServerUpcalls } from '../../../src/shared/contracts/server.ts';
import { aLogger } from '../../support/logger.ts';
import { anyPort, serverSettings, serverUpcalls } from '../../support/server.ts';

async function aServer(over: { healthz?: ListenAddress | null; upcalls?: Partial<ServerUpcalls> } = {}) {
  const { logger, lines } = aLogger();
  const state = new ThreadState({ logging: { format: 'text', verbosity: -9, vmodule: [] }, podSyncThreads: 1, syncFrequencyMs: 60_000 });
  const heart = state.enterMain();
  const server = ServerThread.start({
    state,
    logger,
    upcalls: serverUpcalls(over.upcalls),
    settings: serverSettings({ healthz: over.healthz === undefined ? anyPort : over.healthz }),
  });
  after(async () => {
    heart.stop();
    await server.close();
  });
  const get = async (target: string, init?: RequestInit, which: 'readOnly' | 'healthz' = 'readOnly') => {
    const listen = (await server.addresses())[which];
    return fetch(`http://127.0.0.1:${listen?.port}${target}`, init);
  };
  return { server, state, lines, get };
}

test('the server answers health, pods and metrics', async () => {
  const { get } = await aServer();
  assert.equal(await (await get('/healthz', {}, 'healthz')).text(), 'ok');
  assert.equal(await (await get('/pods')).text(), '{"kind":"PodList"}');
  const metrics = await get('/metrics');
  assert.equal(metrics.headers.get('content-type'), 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores');
  assert.equal(metrics.headers.get('content-encoding'), 'gzip');
  const page = await metrics.text();
  assert.match(page, /\nprocess_resident_memory_bytes [\d.]+e\+0[78]\n/);
  assert.match(page, /\nkubelet_thread_starts_total\{thread="server"\} 1\n/);
  assert.match(page, /\nkubelet_thread_up\{thread="main"\} 1\n/);
  assert.match(page, /\nkubelet_http_requests_total\{long_running="false",method="GET",path="pods",server_type="readonly"\} 1\n/);
  const shown = new Set([...page.matchAll(/^# HELP (\S+) \[BETA\]/gm)].map(([, name]) => name));
  const registered = Number(/\nregistered_metrics_total\{deprecated_version="",stability_level="BETA"\} (\d+)\n/.exec(page)?.[1]);
  assert.ok(registered >= shown.size && shown.has('registered_metrics_total'), `${registered} registered, shown: ${[...shown].join(' ')}`);
  const started = Number(/\nprocess_start_time_seconds (\S+)\n/.exec(page)?.[1]);
  assert.ok(Math.abs(started - (Date.now() / 1000 - process.uptime())) < 2, String(started));
  assert.match(await (await get('/metrics/slis')).text(), /kubernetes_healthcheck\{name="ping",type="healthz"\} 1\n/);
});

test('killed, the server is back, and holds no port of its life before', async () => {
  const { server, get } = await aServer();
  const before = await server.addresses();
  const port = before.readOnly!.port;
  await server.thread.kill();
  assert.equal((await get('/healthz')).status, 200);
  // Port 0 means another one for each life; the old one must be free.
  await assert.rejects(fetch(`http://127.0.0.1:${port}/healthz`));
  assert.match(await (await get('/healthz?verbose')).text(), /\[\+\]thread-server ok \(died 1 times, last with exit code 1\)\n/);
});

test('a thread that is down is named by /healthz', async () => {
  const { state, get } = await aServer();
  const row = state.lives.rowOf('images');
  state.lives.started(row, 0);
  state.lives.died(row, 134, 'JS heap out of memory');
  const response = await get('/healthz', {}, 'healthz');
  assert.equal(response.status, 500);
  assert.match(await response.text(), /\[-\]thread-images failed/);
  assert.match(await (await get('/healthz/thread-images')).text(), /down, its last exit code was 134: JS heap out of memory/);
});

test('a main thread that fails is an error for who asked, and many who ask at once are one question', async () => {
  let asked = 0;
  const gate = Promise.withResolvers<string>();
  const pods = () => {
    asked += 1;
    return asked === 1 ? Promise.reject(new Error('not ready')) : gate.promise;
  };
  const { get } = await aServer({ upcalls: { pods } });
  const failed = await get('/pods');
  assert.deepEqual([failed.status, await failed.text()], [500, 'not ready\n']);
  const answers = Array.from({ length: 10 }, () => get('/pods'));
  assert.equal((await get('/healthz')).status, 200);
  gate.resolve('{}');
  for (const answer of await Promise.all(answers)) assert.equal(await answer.text(), '{}');
  assert.equal(asked, 2);
});

test('a taken port is tried again until it is free', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as { port: number };
  const { server, get } = await aServer({ healthz: { address: '127.0.0.1', port } });
  assert.equal((await server.addresses()).healthz, null);
  await new Promise((resolve) => taken.close(resolve));
  while (!(await server.addresses()).healthz) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(await (await get('/healthz', {}, 'healthz')).text(), 'ok');
});

const hostile: { name: string; bytes: string; want: RegExp }[] = [
  { name: 'garbage', bytes: '\u0000\u0001garbage\r\n\r\n', want: /^HTTP\/1\.1 400 / },
  { name: 'endless headers', bytes: `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, want: /^HTTP\/1\.1 431 / },
  {
    name: 'a body that nobody wants',
    bytes: 'POST /pods HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\nxx',
    want: /^HTTP\/1\.1 405 [^]*Connection: close/,
  },
  { name: 'a target that is no path', bytes: 'GET http://[::bad/%zz?% HTTP/1.1\r\nHost: a\r\n\r\n', want: /^HTTP\/1\.1 404 / },
];
for (const { name, bytes, want } of hostile) {
  test(`${name} gets an answer, and the server lives on`, async () => {
    const { server, get } = await aServer();
    const { readOnly } = await server.addresses();
    const socket = connect(readOnly!.port, '127.0.0.1');
    socket.on('error', () => {});
    socket.write(bytes, 'latin1');
    const answer = await new Promise<string>((resolve) => socket.once('data', (data) => resolve(data.toString())));
    assert.match(answer, want);
    socket.destroy();
    assert.equal((await get('/healthz')).status, 200);
  });
}
