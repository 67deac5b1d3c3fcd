/** Calls to plugins that answer with nonsense, without end, or not at all. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { callUnary } from '../../../src/shared/grpc-client/index.ts';

const folder = mkdtempSync(join(tmpdir(), 'kn-hostile-'));
after(() => rmSync(folder, { recursive: true }));
let count = 0;

async function failureOf(server: Server | ReturnType<typeof createHttp2Server>, deadlineMs = 3000): Promise<string> {
  const socketPath = join(folder, `${(count += 1)}.sock`);
  server.listen(socketPath);
  await once(server, 'listening');
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket: { destroy(): void; on(event: 'error', listener: () => void): void }) => {
    socket.on('error', () => {});
    sockets.add(socket);
  });
  try {
    await callUnary({ socketPath, path: '/s/M', request: new Uint8Array(), deadlineMs, maxReplyBytes: 64 * 1024 });
    return 'no failure';
  } catch (err) {
    return (err as Error).message;
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

function http2(onStream: (stream: ServerHttp2Stream) => void) {
  const server = createHttp2Server();
  server.on('session', (session) => session.on('error', () => {}));
  server.on('sessionError', () => {});
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => {});
    onStream(stream);
  });
  return server;
}

test('a plugin that never answers fails at the deadline', async () => {
  assert.equal(await failureOf(createServer(), 200), 'rpc error: code = DeadlineExceeded desc = context deadline exceeded');
});

test('a plugin that does not speak HTTP/2 fails', async () => {
  assert.match(await failureOf(createServer((socket) => socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'))), /^rpc error: code = Unavailable/);
});

test('a plugin that hangs up fails', async () => {
  assert.match(await failureOf(createServer((socket) => socket.destroy())), /^rpc error: code = Unavailable/);
});

test('a reply without end is bounded', async () => {
  const endless = http2((stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    const write = () => !stream.destroyed && stream.write(Buffer.alloc(64 * 1024), () => setImmediate(write));
    write();
  });
  assert.match(await failureOf(endless), /received message larger than max \(\d+ vs\. 65536\)/);
});

test('an error of megabytes is cut', async () => {
  const loud = http2((stream) => {
    stream.respond({ ':status': 200, 'grpc-status': '13', 'grpc-message': 'x'.repeat(20_000) }, { endStream: true });
  });
  const message = await failureOf(loud);
  assert.match(message, /^rpc error: code = Internal desc = x+… \(20000 characters\)$/);
  assert.ok(message.length < 1100);
});

test('headers without end fail', async () => {
  const many = http2((stream) => {
    const headers = Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`x-${i}`, 'x'.repeat(100)]));
    stream.respond({ ':status': 200, ...headers }, { endStream: true });
  });
  assert.match(await failureOf(many), /^rpc error: code = (Unavailable|Internal|DeadlineExceeded)/);
});

test('a socket that is not there, and a path that is too long, fail at once', async () => {
  const call = (socketPath: string) => callUnary({ socketPath, path: '/s/M', request: new Uint8Array(), deadlineMs: 3000 });
  await assert.rejects(call('/no/such.sock'), { message: /dial unix \/no\/such\.sock: connect: no such file or directory/ });
  await assert.rejects(call(`/${'x'.repeat(200)}`), { message: /more than 107 bytes/ });
});
