import assert from 'node:assert/strict';
import { connect, createServer } from 'node:net';
import { after, test } from 'node:test';
import { HealthThread } from '../../../src/main/threads/health-thread.ts';
import { ServerThread } from '../../../src/main/threads/server-thread.ts';
import { SharedThreadState } from '../../../src/main/threads/shared-thread-state.ts';
import type { MainApi } from '../../../src/shared/contracts/server/calls.ts';
import type { ListenAddress } from '../../../src/shared/contracts/server/settings.ts';
import type { PodUID } from '../../../src/shared/kubernetes/ids.ts';
import { aLogger } from '../../support/logger.ts';
import { anyPort, serverSettings, fakeMainApi } from '../../support/server/server.ts';

async function aServer(over: { healthz?: ListenAddress; mainApi?: Partial<MainApi> } = {}) {
  const { logger, lines } = aLogger();
  const state = new SharedThreadState({
    logging: { format: 'text', verbosity: -9, vmodule: [] },
    podSyncThreads: 1,
    syncFrequencyMs: 60_000,
  });
  const heartbeat = state.enterMain();
  const health = HealthThread.start({ state, logger, settings: { listen: over.healthz ?? anyPort } });
  const server = ServerThread.start({
    state,
    logger,
    mainApi: fakeMainApi({ resetHealthMetrics: () => health.resetMetrics(), ...over.mainApi }),
    settings: serverSettings(),
  });
  after(async () => {
    heartbeat.stop();
    await server.close();
    await health.close();
  });
  const get = async (target: string, init?: RequestInit, which: 'readOnly' | 'healthz' = 'readOnly') => {
    const listen = which === 'healthz' ? await health.address() : (await server.addresses()).readOnly;
    return fetch(`http://127.0.0.1:${listen?.port}${target}`, init);
  };
  return { server, health, state, lines, get };
}

test('the server answers health, pods and metrics', async () => {
  const { get } = await aServer();
  assert.equal(await (await get('/healthz', {}, 'healthz')).text(), 'ok');
  assert.equal(await (await get('/pods')).text(), '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{"kind":"Pod"}]}');
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

test('a killed server thread is restarted, and the port of its predecessor is free', async () => {
  const { server, get } = await aServer();
  const before = await server.addresses();
  const port = before.readOnly!.port;
  await server.thread.kill();
  assert.equal((await get('/healthz')).status, 200);
  // Port 0 chooses a new port at each start.
  await assert.rejects(fetch(`http://127.0.0.1:${port}/healthz`));
  assert.match(await (await get('/healthz?verbose')).text(), /\[\+\]thread-server ok \(died 1 times, last with exit code 1\)\n/);
});

test('/healthz names a thread that is down', async () => {
  const { state, get } = await aServer();
  const row = state.threadStatuses.rowOf('images');
  state.threadStatuses.started(row, 0);
  state.threadStatuses.died(row, 134, 'JS heap out of memory');
  const response = await get('/healthz', {}, 'healthz');
  assert.equal(response.status, 500);
  assert.match(await response.text(), /\[-\]thread-images failed/);
  assert.match(await (await get('/healthz/thread-images')).text(), /down, its last exit code was 134: JS heap out of memory/);
});

test('the healthz port replies while the server thread restarts, and shows the death', async () => {
  const { server, health, get } = await aServer();
  await server.addresses();
  const { port } = (await health.address())!;
  const killed = server.thread.kill();
  let note: string;
  do note = await (await get('/healthz?verbose', {}, 'healthz')).text();
  while (!/\[\+\]thread-server ok \(died 1 times, last with exit code 1\)/.test(note));
  await killed;
  assert.equal((await health.address())?.port, port);
  assert.equal((await get('/healthz')).status, 200);
});

test('health checks of both ports are counted together, and reset together', async () => {
  const { state, get } = await aServer();
  const counted = async () =>
    /kubernetes_healthchecks_total\{name="thread-images",status="(?:success|error)",type="healthz"\} (\d+)/.exec(
      await (await get('/metrics/slis')).text(),
    )?.[1];
  await get('/healthz', {}, 'healthz');
  await get('/healthz');
  assert.equal(await counted(), '2');
  const row = state.threadStatuses.rowOf('images');
  state.threadStatuses.started(row, 0);
  state.threadStatuses.died(row, 134, 'out of memory');
  await get('/healthz', {}, 'healthz');
  assert.match(await (await get('/metrics/slis')).text(), /kubernetes_healthcheck\{name="thread-images",type="healthz"\} 0\n/);
  await get('/metrics/slis', { method: 'DELETE' });
  assert.equal(await counted(), '0');
});

test('an error of main is an error response, and concurrent requests share one call to main', async () => {
  let calls = 0;
  const reply = Promise.withResolvers<PodUID[]>();
  const podListUIDs = () => {
    calls += 1;
    return calls === 1 ? Promise.reject(new Error('not ready')) : reply.promise;
  };
  let portions = 0;
  const podListItems = async () => {
    portions += 1;
    await reply.promise;
    return { taken: 1, json: Buffer.from('{}') };
  };
  const { get } = await aServer({ mainApi: { podListUIDs, podListItems } });
  const failed = await get('/pods');
  assert.deepEqual([failed.status, await failed.text()], [500, 'not ready\n']);
  const answers = Array.from({ length: 10 }, () => get('/pods'));
  assert.equal((await get('/healthz')).status, 200);
  reply.resolve(['a' as PodUID]);
  const want = '{"kind":"PodList","apiVersion":"v1","metadata":{},"items":[{}]}';
  for (const answer of await Promise.all(answers)) assert.equal(await answer.text(), want);
  assert.equal(calls, 2);
  assert.ok(portions < 10, `${portions} portions`);
});

test('the health thread retries a port in use until it is free', async () => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve));
  const { port } = taken.address() as { port: number };
  const { health, get } = await aServer({ healthz: { address: '127.0.0.1', port } });
  assert.equal(await health.address(), null);
  await new Promise((resolve) => taken.close(resolve));
  while (!(await health.address())) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.equal(await (await get('/healthz', {}, 'healthz')).text(), 'ok');
});

const hostile: { name: string; bytes: string; want: RegExp }[] = [
  { name: 'garbage', bytes: '\u0000\u0001garbage\r\n\r\n', want: /^HTTP\/1\.1 400 / },
  { name: 'endless headers', bytes: `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, want: /^HTTP\/1\.1 431 / },
  {
    name: 'an unexpected body',
    bytes: 'POST /pods HTTP/1.1\r\nHost: a\r\nContent-Length: 5000000\r\n\r\nxx',
    want: /^HTTP\/1\.1 405 [^]*Connection: close/,
  },
  { name: 'a target that is no path', bytes: 'GET http://[::bad/%zz?% HTTP/1.1\r\nHost: a\r\n\r\n', want: /^HTTP\/1\.1 404 / },
];
for (const { name, bytes, want } of hostile) {
  test(`${name} gets a response, and the server continues`, async () => {
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
