/** Replies whose pieces are made while they are sent, over a real connection. */
import assert from 'node:assert/strict';
import { createServer, request as send, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { test, type TestContext } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { inPieces, ok } from '../../../src/shared/http/reply.ts';
import { sendReply } from '../../../src/shared/http/send-reply.ts';

async function serve(t: TestContext, pieces: () => Iterable<string>) {
  const failures: unknown[] = [];
  const failed = Promise.withResolvers<unknown>();
  const server = createServer((request, response) => {
    const reply = request.url === '/short' ? ok('short') : inPieces(pieces(), 'text/plain');
    sendReply(request, response, reply).catch((err: unknown) => {
      failures.push(err);
      failed.resolve(err);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const get = async (path: string, options: { method?: string; headers?: Record<string, string> } = {}) => {
    const request = send({ port, path, agent: false, ...options }).end();
    const [response] = (await once(request, 'response')) as [IncomingMessage];
    return { request, response };
  };
  return { get, failures, failed: failed.promise };
}

async function bodyOf(response: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

test('a client gets all pieces, compressed when it accepts that, and none for HEAD', async (t) => {
  const pieces = Array.from({ length: 200 }, (_, index) => `piece ${index} …\n`.repeat(100));
  const { get, failures } = await serve(t, () => pieces);
  assert.equal((await bodyOf((await get('/')).response)).toString(), pieces.join(''));
  const { response } = await get('/', { headers: { 'Accept-Encoding': 'gzip' } });
  assert.equal(response.headers['content-encoding'], 'gzip');
  assert.equal(gunzipSync(await bodyOf(response)).toString(), pieces.join(''));
  assert.equal((await bodyOf((await get('/', { method: 'HEAD' })).response)).length, 0);
  assert.deepEqual(failures, []);
});

for (const encoding of ['identity', 'gzip']) {
  test(`other requests are answered during an endless reply (${encoding}), which ends with its client`, async (t) => {
    const ended = Promise.withResolvers<void>();
    const { get, failures } = await serve(t, function* endless() {
      try {
        for (;;) yield 'x'.repeat(10_000);
      } finally {
        ended.resolve();
      }
    });
    const { request, response } = await get('/', { headers: { 'Accept-Encoding': encoding } });
    response.resume();
    assert.equal((await bodyOf((await get('/short')).response)).toString(), 'short');
    response.on('error', () => {});
    request.destroy();
    await ended.promise;
    assert.deepEqual(failures, []);
  });
}

test('an error in the middle of a reply ends the connection', async (t) => {
  const { get, failed } = await serve(t, function* failing() {
    yield 'begun';
    throw new Error('broken');
  });
  await assert.rejects(bodyOf((await get('/')).response), /aborted/);
  assert.match(String(await failed), /broken/);
});
