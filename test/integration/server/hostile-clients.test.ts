import assert from 'node:assert/strict';
import { Agent } from 'node:https';
import { connect as tcpConnect, type Socket } from 'node:net';
import { after, test } from 'node:test';
import { connect as tlsConnect } from 'node:tls';
import { aSecureServer } from '../../support/server/secure-server.ts';

const t = { after };

/** Writes bytes over a new connection and returns the received data until the server ends it or sends nothing for a time. */
function raw(port: number, bytes: string, silentMs = 300): Promise<string> {
  return new Promise((resolve) => {
    const socket = tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => socket.write(bytes, 'latin1'));
    let answer = '';
    let timer = setTimeout(() => {}, 0);
    const done = () => {
      clearTimeout(timer);
      socket.destroy();
      resolve(answer);
    };
    socket.on('data', (data) => {
      answer += data.toString('latin1');
      clearTimeout(timer);
      timer = setTimeout(done, silentMs);
    });
    socket.on('end', done).on('error', done);
  });
}

const hostile: { name: string; bytes: string; want: RegExp }[] = [
  { name: 'garbage', bytes: '\u0000\u0001garbage\r\n\r\n', want: /^HTTP\/1\.1 400 / },
  { name: 'no host', bytes: 'GET /pods HTTP/1.1\r\n\r\n', want: /^HTTP\/1\.1 400 / },
  { name: 'headers without an end', bytes: `GET / HTTP/1.1\r\nHost: a\r\nX: ${'x'.repeat(100_000)}\r\n\r\n`, want: /^(HTTP\/1\.1 431 |$)/ },
  {
    name: 'two lengths',
    bytes: 'POST /pods HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\nabcd',
    want: /^HTTP\/1\.1 400 /,
  },
  {
    name: 'a length and chunked encoding',
    bytes:
      'POST /pods HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /configz HTTP/1.1\r\nHost: a\r\n\r\n',
    want: /^HTTP\/1\.1 400 (?![^]*kubeletconfig)/,
  },
  {
    name: 'an unknown transfer encoding',
    bytes: 'POST /pods HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\nGET /configz HTTP/1.1\r\nHost: a\r\n\r\n',
    want: /^HTTP\/1\.1 [^]*(?<!kubeletconfig[^]*)$/,
  },
  {
    name: 'a folded header',
    bytes: 'GET /pods HTTP/1.1\r\nHost: a\r\nX: 1\r\n Transfer-Encoding: chunked\r\n\r\n',
    want: /^HTTP\/1\.1 (400|200) /,
  },
  {
    name: 'a request in the body of another',
    bytes: 'POST /pods HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n\r\nGET /configz HTTP/1.1\r\nHost: a\r\n\r\n',
    want: /^HTTP\/1\.1 405 [^]*Connection: close(?![^]*kubeletconfig)/,
  },
  { name: 'an invalid target', bytes: 'GET http://[::bad/%zz?% HTTP/1.1\r\nHost: a\r\n\r\n', want: /^HTTP\/1\.1 400 / },
  { name: 'a target with a host', bytes: 'GET http://elsewhere/pods HTTP/1.1\r\nHost: a\r\n\r\n', want: /^HTTP\/1\.1 200 [^]*PodList/ },
  { name: 'the target *', bytes: 'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n', want: /^HTTP\/1\.1 400 / },
  { name: 'CONNECT', bytes: 'CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: a\r\n\r\n', want: /^(HTTP\/1\.1 4\d\d|$)/ },
  {
    name: 'an upgrade of a path without streams',
    bytes: 'GET /pods HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n',
    want: /^HTTP\/1\.1 200 [^]*PodList/,
  },
  {
    name: 'a stream of an unknown pod',
    bytes: 'POST /exec/ns/pod/app?command=sh&output=1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n',
    want: /^HTTP\/1\.1 404 [^]*pod does not exist/,
  },
];
test('invalid requests get an error or a closed connection, and the server keeps running', async (context) => {
  const { port, ask, lines } = await aSecureServer(t);
  for (const { name, bytes, want } of hostile) {
    await context.test(name, async () => assert.match(await raw(port, bytes), want));
  }
  assert.equal((await ask('/healthz')).status, 200);
  assert.ok(!lines.some(({ msg }) => /died|exited/.test(msg)));
});

test('an escaped path traversal is refused in every parameter', async () => {
  const { ask } = await aSecureServer(t);
  const tricks = ['%2e%2e', '..%2f..%2fetc', '%2e', 'a%2f%2fb', 'a%00b', '%zz', '%ff%fe'];
  for (const trick of tricks) {
    for (const path of [
      `/containerLogs/${trick}/pod/app`,
      `/containerLogs/ns/${trick}/app`,
      `/containerLogs/ns/pod/${trick}`,
      `/exec/ns/pod/${trick}/app`,
      `/logs/${trick}`,
      `/healthz/${trick}`,
      `/debug/pprof/${trick}`,
    ]) {
      const { status } = await ask(path);
      assert.equal(status, 400, path);
    }
  }
  for (const path of ['/containerLogs/ns/../../etc/passwd', '/logs/../../etc/passwd', '/./pods']) {
    const { status, headers } = await ask(path);
    assert.equal(status, 307, path);
    assert.ok(!String(headers.location).includes('..'));
  }
});

test('authorization and handler use the same path', async () => {
  const reviewed: string[] = [];
  const { ask } = await aSecureServer(t, {
    secure: { authorization: { authorizedTTLMs: 0, unauthorizedTTLMs: 0 } },
    mainApi: {
      reviewAccess: async ({ resourceAttributes }) => {
        reviewed.push(resourceAttributes.subresource);
        return { allowed: resourceAttributes.subresource === 'metrics' };
      },
    },
  });
  for (const path of [
    '/%65xec/ns/pod/app',
    '/metrics%2f..%2fexec/ns/pod/app',
    '/metrics/../exec/ns/pod/app',
    '/Metrics',
    '/metrics%3f/../pods',
  ]) {
    assert.ok((await ask(path)).status >= 300, path);
  }
  assert.deepEqual(reviewed, ['proxy']);
});

test('two hundred concurrent clients are served', async () => {
  const { ask } = await aSecureServer(t);
  const answers = await Promise.all(Array.from({ length: 200 }, () => ask('/pods')));
  assert.ok(answers.every(({ status }) => status === 200));
});

/** Resolves when the connection is closed. */
const untilClosed = (socket: Socket) => new Promise<void>((resolve) => socket.on('error', () => {}).once('close', () => resolve()));
const secureSocket = (port: number, onSecure: (this: Socket) => void) =>
  tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false }, onSecure);
const tokensOnly = { clientCAFile: '', reloadClientCAFile: true, webhook: { cacheTTLMs: 60_000 }, anonymous: false } as const;

test('clients that pipeline large requests with random tokens do not crash the thread', async () => {
  const { port, ask, lines } = await aSecureServer(t, {
    secure: { authentication: tokensOnly },
    // The API server never responds.
    mainApi: { reviewToken: () => new Promise(() => {}) },
  });
  const request = (token: string) => `GET /pods HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  const flood = Array.from({ length: 10 }, (_, client) =>
    secureSocket(port, function () {
      for (let i = 0; i < 300 && !this.destroyed; i += 1) this.write(request(`${client}-${i}-`.padEnd(60_000, 'x')));
    }),
  );
  await Promise.all(flood.map(untilClosed));
  assert.equal((await ask('/healthz')).status, 401);
  assert.ok(!lines.some(({ msg }) => /died/.test(msg)));
});

test('requests of one connection are answered sequentially, and too many pipelined requests end it', async () => {
  let current = 0;
  let maximum = 0;
  const { port } = await aSecureServer(t, {
    mainApi: {
      resolveContainer: async ({ pod }) => {
        maximum = Math.max(maximum, (current += 1));
        await new Promise((resolve) => setTimeout(resolve, 10));
        current -= 1;
        return { found: false, status: 404, message: `no ${pod}` };
      },
    },
  });
  const request = (pod: string) => `GET /containerLogs/ns/${pod}/app HTTP/1.1\r\nHost: a\r\n\r\n`;
  const answer = await raw(port, Array.from({ length: 10 }, (_, i) => request(`pod-${i}`)).join(''));
  assert.deepEqual(
    [...answer.matchAll(/no (pod-\d)/g)].map(([, pod]) => pod),
    Array.from({ length: 10 }, (_, i) => `pod-${i}`),
  );
  assert.equal(maximum, 1);
  assert.equal(await raw(port, request('pod').repeat(100)), '');
});

test('an upgrade before the response to an earlier request ends the connection, not the thread', async () => {
  const { port, ask, lines } = await aSecureServer(t, { mainApi: { podListUIDs: () => new Promise(() => {}) } });
  const bytes =
    'GET /pods HTTP/1.1\r\nHost: a\r\n\r\nPOST /exec/ns/pod/app?command=sh&output=1 HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n';
  assert.equal(await raw(port, bytes), '');
  assert.equal((await ask('/healthz')).status, 200);
  assert.ok(!lines.some(({ msg }) => /died/.test(msg)));
});

test('a request with too many headers is refused', async () => {
  const { port } = await aSecureServer(t);
  assert.match(await raw(port, `GET /healthz HTTP/1.1\r\nHost: a\r\n${'a:b\r\n'.repeat(500)}\r\n`), /^HTTP\/1\.1 431 /);
});

test('during a flood of invalid tokens, an accepted token is served and an unknown one is refused immediately', async () => {
  const { ask } = await aSecureServer(t, {
    secure: { authentication: { ...tokensOnly, webhook: { cacheTTLMs: 1 } } },
    mainApi: {
      reviewToken: (token) =>
        token === 'good' ? Promise.resolve({ authenticated: true, user: { username: 'jane' } }) : new Promise(() => {}),
    },
  });
  const by = (token: string) => ask('/healthz', { headers: { Authorization: `Bearer ${token}` } });
  assert.equal((await by('good')).status, 200);
  // The number of concurrent reviews plus the queue limit of one address.
  const flood = Array.from({ length: 40 }, (_, i) => by(`random-${i}`));
  const { status, headers } = await Promise.race([by('one too many'), ...flood]);
  assert.deepEqual([status, headers['retry-after']], [429, '1']);
  assert.equal((await by('good')).status, 200);
  for (const answer of flood) answer.catch(() => {});
});

test('a connection ends after some refused requests, unless one was authorized', async () => {
  const { port } = await aSecureServer(t, {
    secure: { authentication: tokensOnly },
    mainApi: {
      reviewToken: async (token) => (token === 'good' ? { authenticated: true, user: { username: 'jane' } } : { authenticated: false }),
    },
  });
  const request = (token: string) => `GET /healthz HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${token}\r\n\r\n`;
  const statuses = async (tokens: readonly string[]) =>
    [...(await raw(port, tokens.map(request).join(''))).matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => Number(status));
  assert.deepEqual(await statuses(Array(8).fill('bad')), Array(4).fill(401));
  assert.deepEqual(await statuses(['good', ...Array(7).fill('bad')]), [200, ...Array(7).fill(401)]);
});

test('an authorized client can connect, and stays connected, while others open as many connections as possible', async () => {
  const { port, ask } = await aSecureServer(t, {
    secure: { authentication: tokensOnly },
    mainApi: {
      reviewToken: async (token) => (token === 'good' ? { authenticated: true, user: { username: 'jane' } } : { authenticated: false }),
    },
  });
  const authorized = { headers: { Authorization: 'Bearer good' } };
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  assert.equal((await ask('/healthz', { ...authorized, agent })).status, 200);
  let ended = 0;
  const flood: Socket[] = [];
  for (let batch = 0; batch < 8; batch += 1) {
    await Promise.all(
      Array.from({ length: 128 }, () => {
        const ready = Promise.withResolvers<void>();
        const socket = secureSocket(port, function () {
          this.write('GET /pods HTTP/1.1\r\nHost: a\r\n\r\n');
        });
        socket
          .once('data', () => ready.resolve())
          .on('error', () => {})
          .once('close', () => ((ended += 1), ready.resolve()));
        flood.push(socket);
        return ready.promise;
      }),
    );
  }
  t.after(() => flood.forEach((socket) => socket.destroy()));
  assert.ok(ended >= 500 && ended < 1000, String(ended));
  assert.equal((await ask('/healthz', authorized)).status, 200);
  // The authorized connection from before the flood is still open.
  const [before] = Object.values(agent.freeSockets).flat();
  assert.equal((await ask('/healthz', { ...authorized, agent })).status, 200);
  assert.equal(Object.values(agent.freeSockets).flat()[0], before);
});

test('incomplete handshakes and requests time out and do not affect other clients', async () => {
  const { port, ask } = await aSecureServer(t);
  const ended = (socket: Socket) => new Promise<number>((resolve) => socket.on('error', () => {}).once('close', () => resolve(Date.now())));
  const began = Date.now();
  const silent = Array.from({ length: 20 }, () => tcpConnect(port, '127.0.0.1'));
  const slow = Array.from({ length: 20 }, () =>
    tlsConnect({ port, host: '127.0.0.1', rejectUnauthorized: false }, function (this: Socket) {
      this.write('GET /pods HTTP/1.1\r\nHost: a\r\nX-Slow: ');
    }),
  );
  for (const socket of slow) socket.resume();
  const drip = setInterval(() => slow.forEach((socket) => socket.writable && socket.write('x')), 500);
  const all = Promise.all([...silent, ...slow].map(ended));
  assert.equal((await ask('/pods')).status, 200);
  const last = Math.max(...(await all)) - began;
  clearInterval(drip);
  // Node checks for timeouts every five seconds.
  assert.ok(last < 17_000, String(last));
  assert.equal((await ask('/pods')).status, 200);
});
