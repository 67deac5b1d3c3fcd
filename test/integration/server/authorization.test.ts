import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { connect } from 'node:tls';
import { aSecureServer } from '../../support/server/secure-server.ts';

const t = { after };
const authorization = { authorizedTTLMs: 60_000, unauthorizedTTLMs: 60_000 };

test("a forbidden request gets upstream's message after one review per subresource", async () => {
  const reviewed: string[] = [];
  const { ask } = await aSecureServer(t, {
    secure: { authorization },
    mainApi: {
      reviewAccess: async ({ resourceAttributes: { verb, subresource } }) => {
        reviewed.push(`${verb} ${subresource}`);
        return { allowed: false };
      },
    },
  });
  for (const attempt of [1, 2]) {
    const { status, body } = await ask('/pods');
    assert.deepEqual(
      [attempt, status, body],
      [attempt, 403, 'Forbidden (user=system:anonymous, verb=get, resource=nodes, subresource(s)=[pods proxy])\n'],
    );
  }
  assert.deepEqual(reviewed, ['get pods', 'get proxy']);
  assert.match((await ask('/exec/ns/pod/app', { method: 'POST' })).body, /verb=create, resource=nodes, subresource\(s\)=\[proxy\]/);
  assert.match((await ask('/metrics')).body, /subresource\(s\)=\[metrics\]/);
  assert.match((await ask('/logs/')).body, /subresource\(s\)=\[log\]/);
  assert.equal((await ask('/nowhere')).status, 404);
});

test('a request whose client disconnects during authorization is not executed', async () => {
  const mayReview = Promise.withResolvers<void>();
  const reviewStarted = Promise.withResolvers<void>();
  const resolved: string[] = [];
  const { port, ask } = await aSecureServer(t, {
    secure: { authorization },
    mainApi: {
      reviewAccess: async ({ resourceAttributes: { verb } }) => {
        if (verb === 'create') {
          reviewStarted.resolve();
          await mayReview.promise;
        }
        return { allowed: true };
      },
      resolveContainer: async ({ purpose, pod }) => {
        resolved.push(`${purpose} ${pod}`);
        return { found: false, status: 404, message: 'pod does not exist' };
      },
    },
  });
  const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
    client.write('POST /run/ns/left/app?cmd=true HTTP/1.1\r\nHost: a\r\n\r\n');
  });
  await reviewStarted.promise;
  // The server ends its side when it has noticed the client's end.
  const isOver = new Promise((resolve) => client.once('close', resolve));
  client.resume().end();
  await isOver;
  mayReview.resolve();
  assert.equal((await ask('/run/ns/stayed/app?cmd=true', { method: 'POST' })).status, 404);
  assert.deepEqual(resolved, ['run stayed']);
});

test('nodes/proxy allows what a fine-grained subresource allows', async () => {
  const { ask } = await aSecureServer(t, {
    secure: { authorization },
    mainApi: { reviewAccess: async ({ resourceAttributes }) => ({ allowed: resourceAttributes.subresource === 'proxy' }) },
  });
  for (const path of ['/pods', '/healthz', '/configz', '/runningpods/']) assert.equal((await ask(path)).status, 200, path);
  for (const path of ['/metrics', '/statusz', '/flagz']) assert.equal((await ask(path)).status, 403, path);
});

test('a failed access review is a 500 without the reason and is not cached', async () => {
  let down = true;
  const { ask } = await aSecureServer(t, {
    secure: { authorization },
    mainApi: { reviewAccess: async () => (down ? Promise.reject(new Error('secret reason')) : { allowed: true }) },
  });
  const { status, body } = await ask('/pods');
  assert.deepEqual([status, body], [500, 'Authorization error (user=system:anonymous, verb=get, resource=nodes, subresource=pods)']);
  down = false;
  assert.equal((await ask('/pods')).status, 200);
});
