/** Watches of the API client: start, events, errors and end. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { sendJSON } from '../../support/api-server/scripted-api-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aClient, collect, isError, pod, server, until, useServer } from '../../support/api-server/api-client-suite.ts';

useServer();

test('a watch yields events as they are sent, and returns when the server ends it', async () => {
  server.handle = (_request, response) => {
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

test('a compressed watch yields each event when it is flushed, as a gzip member of its own', async () => {
  const line = (type: string) => `${JSON.stringify({ type, object: pod })}\n`;
  let sendSecond = () => {};
  server.handle = (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.write(gzipSync(line('ADDED')));
    sendSecond = () => {
      // A member in two parts, and the start of another.
      const member = gzipSync(line('MODIFIED'));
      response.write(member.subarray(0, 15));
      response.write(Buffer.concat([member.subarray(15), gzipSync(line('DELETED'))]));
      response.end();
    };
  };
  const { client } = await aClient();
  const { signal } = new AbortController();
  const seen: string[] = [];
  for await (const { type } of client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal })) {
    if (seen.push(type) === 1) sendSecond();
  }
  assert.deepEqual(seen, ['ADDED', 'MODIFIED', 'DELETED']);
  assert.equal(server.requests[0]?.headers['accept-encoding'], 'gzip');
});

test('a compressed watch of bytes without end is bounded by what it has when it is decompressed', async () => {
  const bomb = gzipSync(Buffer.alloc(8 * 1024 * 1024, 'x'));
  server.handle = (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    const send = () => {
      while (!response.destroyed && response.write(bomb));
      if (!response.destroyed) response.once('drain', send);
    };
    send();
  };
  const { client } = await aClient();
  const { signal } = new AbortController();
  await assert.rejects(
    collect(client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal })),
    /has an event of more than \d+ bytes/,
  );
});

test('a watch whose bytes are not gzip ends with an error', async () => {
  server.handle = (_request, response) => {
    response.writeHead(200, { 'content-encoding': 'gzip' });
    response.end('{"type":"ADDED"}');
  };
  const { client } = await aClient();
  const { signal } = new AbortController();
  await assert.rejects(collect(client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal })), /incorrect header check/);
});

for (const { name, end, reason } of [
  { name: 'ended by the server within an object', end: 'end', reason: 'Unreadable' },
  { name: 'ended by a lost connection', end: 'cut', reason: 'Unreachable' },
]) {
  test(`a watch ${name} yields its events and then an error`, async () => {
    server.handle = (_request, response) => {
      response.writeHead(200);
      response.write(`${JSON.stringify({ type: 'ADDED', object: pod })}\n{"type":"MODIF`);
      setTimeout(() => (end === 'end' ? response.end() : server.destroyConnections()), 20);
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

test('a refused watch rejects with the reason and Retry-After', async () => {
  const status = { kind: 'Status', code: 410, reason: 'Expired', message: 'too old resource version' };
  server.handle = (_request, response) => sendJSON(response, 410, status, { 'retry-after': '3' });
  const { client } = await aClient();
  const { signal } = new AbortController();
  await assert.rejects(collect(client.watch({ path: '/api/v1/pods', trafficClass: 'pods', signal })), {
    code: 410,
    reason: 'Expired',
    retryAfterMs: 3000,
  });
});

test('a watch ends at once when its reader aborts or stops reading', async () => {
  let closed = 0;
  server.handle = (_request, response) => {
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

test('a watch without events beyond its timeoutSeconds ends', async () => {
  server.handle = (_request, response) => {
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
