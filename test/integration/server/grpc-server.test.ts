/** The gRPC server of the kubelet's sockets with a real client, and with clients that do not behave. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { connect as http2Connect, type ClientHttp2Session } from 'node:http2';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { GrpcError, GrpcServer, statusCode, type Methods } from '../../../src/workers/server/grpc/index.ts';
import { GrpcClient } from '../../support/grpc/grpc-client.ts';
import { aLogger } from '../../support/logger.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const large = Buffer.alloc(3_000_000, 'x');

function methods(): Methods {
  return {
    '/v1.Echo/Say': { kind: 'unary', handle: async (request) => request },
    '/v1.Echo/Large': { kind: 'unary', handle: async () => large },
    '/v1.Echo/Refuse': {
      kind: 'unary',
      handle: async () => {
        throw new GrpcError(statusCode.FAILED_PRECONDITION, 'not 100 % ready: ü\n');
      },
    },
    '/v1.Echo/Fail': {
      kind: 'unary',
      handle: async () => {
        throw new Error('a fault');
      },
    },
    '/v1.Echo/Stream': {
      kind: 'stream',
      handle: async (_, stream) => {
        await stream.send(Buffer.from('first'));
        await new Promise((resolve) => stream.ended.addEventListener('abort', resolve));
      },
    },
    '/v1.Echo/Flood': {
      kind: 'stream',
      handle: async (_, stream) => {
        for (;;) await stream.send(large);
      },
    },
  };
}

function aFolder(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'grpc-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function aServer(t: TestContext, { socketPath = join(aFolder(t), 'api', 'kubelet.sock'), requestMs = 500, stallMs = 500 } = {}) {
  const { logger, lines } = aLogger();
  const server = new GrpcServer({ name: 'echo API', socketPath, methods: async () => methods(), limits: { requestMs, stallMs }, logger });
  t.after(() => server.close());
  await server.opened;
  const aClient = () => {
    const client = new GrpcClient(socketPath);
    t.after(() => client.close());
    return client;
  };
  const aSession = (): ClientHttp2Session => {
    const session = http2Connect('http://localhost', { createConnection: () => connect(socketPath) });
    session.on('error', () => {});
    t.after(() => session.destroy());
    return session;
  };
  return { server, socketPath, lines, aClient, aSession };
}

const callHeaders = { ':method': 'POST', 'content-type': 'application/grpc', te: 'trailers' };

test('a client gets responses, errors and streams', async (t) => {
  const { aClient } = await aServer(t);
  const client = aClient();
  assert.deepEqual(await client.call('/v1.Echo/Say', Buffer.from('hello')), Buffer.from('hello'));
  assert.deepEqual(await client.call('/v1.Echo/Say'), Buffer.alloc(0));
  assert.deepEqual(await client.call('/v1.Echo/Large'), large);
  assert.deepEqual(await client.call('/v1.Echo/Refuse'), { code: 'FAILED_PRECONDITION', message: 'not 100 % ready: ü\n' });
  assert.deepEqual(await client.call('/v1.Echo/Fail'), { code: 'UNKNOWN', message: 'a fault' });
  assert.deepEqual(await client.call('/v1.Echo/None'), { code: 'UNIMPLEMENTED', message: 'unknown method None for service v1.Echo' });
  assert.deepEqual(await client.call('/v1.Other/Say'), { code: 'UNIMPLEMENTED', message: 'unknown service v1.Other' });
  const { messages, failure, cancel } = client.watch('/v1.Echo/Stream');
  await waitUntil('the streams', () => messages.length === 1);
  cancel();
  assert.equal((await failure).code, 'CANCELLED');
  assert.equal((await client.watch('/v1.Echo/Stream', 200).failure).code, 'DEADLINE_EXCEEDED');
});

test('more than the burst of unary calls are refused', async (t) => {
  const { aClient } = await aServer(t);
  const client = aClient();
  const answers = await Promise.all(Array.from({ length: 40 }, () => client.call('/v1.Echo/Say')));
  const refused = answers.filter((answer) => !(answer instanceof Buffer));
  assert.ok(refused.length >= 5 && refused.length <= 30, `${refused.length} of 40 calls were refused`);
  assert.deepEqual(refused[0], { code: 'RESOURCE_EXHAUSTED', message: 'rejected by rate limit' });
});

test('the socket replaces what an earlier process left, and the folder is for root', async (t) => {
  const folder = join(aFolder(t), 'pods-api');
  const first = await aServer(t, { socketPath: join(folder, 'a.sock') });
  await first.server.close();
  rmSync(join(folder, 'a.sock'));
  writeFileSync(join(folder, 'a.sock'), 'left over');
  const { aClient } = await aServer(t, { socketPath: join(folder, 'a.sock') });
  assert.equal(statSync(folder).mode & 0o777, 0o750);
  assert.ok((await aClient().call('/v1.Echo/Say')) instanceof Buffer);
});

test('a path that is too long for a socket is an error that names it', async (t) => {
  const socketPath = join(aFolder(t), 'x'.repeat(100), 'kubelet.sock');
  const { lines } = await aServer(t, { socketPath });
  assert.ok(!existsSync(socketPath));
  assert.ok(
    lines.some(
      ({ msg, err }) =>
        msg === 'Cannot serve the echo API' && String(err).startsWith(`${socketPath}: a socket's path has at most 107 bytes`),
    ),
  );
});

test('a request that is too long, late or malformed is refused', async (t) => {
  const { aClient, aSession } = await aServer(t);
  assert.deepEqual(
    await aClient()
      .call('/v1.Echo/Say', Buffer.alloc(70_000))
      .then((answer) => 'code' in answer && answer.code),
    'RESOURCE_EXHAUSTED',
  );
  const session = aSession();
  const statusOf = (headers: object, body: Buffer | null) =>
    new Promise<string>((resolve) => {
      const stream = session.request({ ...callHeaders, ':path': '/v1.Echo/Say', ...headers });
      let found = 'closed';
      const read = (received: Record<string, unknown>) => (found = String(received['grpc-status'] ?? received[':status']));
      stream
        .on('response', read)
        .on('trailers', read)
        .on('error', () => {})
        .on('close', () => resolve(found));
      stream.resume();
      if (body) stream.end(body);
    });
  assert.equal(await statusOf({ ':method': 'GET' }, null), '405');
  assert.equal(await statusOf({ 'content-type': 'text/plain' }, Buffer.alloc(0)), '415');
  assert.equal(await statusOf({}, Buffer.alloc(3)), '13');
  assert.equal(await statusOf({}, Buffer.from([0, 0, 0, 0, 9, 1])), '13');
  assert.equal(await statusOf({}, Buffer.from([1, 0, 0, 0, 0])), '12');
  // The stream never ends its request.
  assert.equal(await statusOf({}, null), '4');
});

test('clients that do not read end, and others are served meanwhile', async (t) => {
  const { aClient, aSession } = await aServer(t);
  const reader = aClient();
  const before = process.memoryUsage().external;
  const streams = Array.from({ length: 3 }, () => {
    const session = aSession();
    return Array.from({ length: 3 }, () => {
      const stream = session.request({ ...callHeaders, ':path': '/v1.Echo/Flood' });
      stream.on('error', () => {});
      stream.end(Buffer.alloc(5));
      stream.pause();
      return new Promise((resolve) => stream.on('close', resolve));
    });
  }).flat();
  await sleep(200);
  assert.ok((await reader.call('/v1.Echo/Say')) instanceof Buffer);
  assert.ok(process.memoryUsage().external - before < 9 * large.length * 2, 'each client has at most its message');
  await Promise.all(streams);
});

test('streams are bounded, and leave room for other calls', async (t) => {
  const { aClient } = await aServer(t);
  const client = aClient();
  const watches = Array.from({ length: 70 }, () => client.watch('/v1.Echo/Stream'));
  await waitUntil('the streams', () => watches.filter(({ messages }) => messages.length === 1).length === 64);
  const refused = await Promise.race(watches.map(({ failure }) => failure));
  assert.deepEqual(refused, { code: 'RESOURCE_EXHAUSTED', message: 'more than 64 streams at a time' });
  assert.ok((await aClient().call('/v1.Echo/Say')) instanceof Buffer);
  for (const { cancel } of watches) cancel();
  const freed = client.watch('/v1.Echo/Stream');
  await waitUntil('the streams', () => freed.messages.length === 1);
  freed.cancel();
});

test('calls whose clients do not send or read make room for others', async (t) => {
  const { aClient, aSession } = await aServer(t, { requestMs: 20_000, stallMs: 20_000 });
  let ended = 0;
  for (let index = 0; index < 3; index += 1) {
    const session = aSession();
    for (let call = 0; call < 60; call += 1)
      session
        .request({ ...callHeaders, ':path': '/v1.Echo/Say' })
        .on('error', () => {})
        .on('close', () => (ended += 1))
        .resume();
  }
  await waitUntil('the oldest calls end', () => ended >= 50);
  const startedMs = Date.now();
  assert.ok((await aClient().call('/v1.Echo/Say')) instanceof Buffer);
  assert.ok(Date.now() - startedMs < 10_000);
});

test('connections without a call make room for new ones', async (t) => {
  const { aClient, socketPath } = await aServer(t);
  const busy = aClient().watch('/v1.Echo/Stream');
  await waitUntil('the streams', () => busy.messages.length === 1);
  const idle = Array.from({ length: 300 }, () =>
    connect(socketPath)
      .on('error', () => {})
      .resume(),
  );
  t.after(() => idle.forEach((socket) => socket.destroy()));
  await waitUntil('the streams', () => idle.filter(({ closed }) => closed).length >= 201);
  assert.ok((await aClient().call('/v1.Echo/Say')) instanceof Buffer);
  idle[299]?.write('GET / HTTP/1.1\r\n\r\n');
  assert.ok((await aClient().call('/v1.Echo/Say')) instanceof Buffer);
  busy.cancel();
  assert.equal((await busy.failure).code, 'CANCELLED');
});
