import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as tcpConnect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { connect, createSecureContext } from 'node:tls';
import { Listener } from '../../../src/workers/server/listener.ts';
import { TlsContexts } from '../../../src/workers/server/tls/tls-contexts.ts';
import { TestAuthority } from '../../support/api-server/certificates.ts';
import { aLogger } from '../../support/logger.ts';
import { anyPort, secureSettings } from '../../support/server/server.ts';

test('a refused upgrade ends the connection, also when its client reads nothing', async (t) => {
  const ended = Promise.withResolvers<void>();
  const folder = await mkdtemp(join(tmpdir(), 'listener-'));
  const { logger } = aLogger();
  const { tls } = secureSettings(folder);
  const contexts = await TlsContexts.start({ tls, clientCAFile: '', reloadClientCAFile: false, servingCertificate: null, logger });
  const listener = new Listener({
    name: 'test',
    listen: anyPort,
    logger,
    connections: { unauthorized: 10, unauthorizedPerAddress: 10, authorized: 10 },
    tls: { contexts, requestCert: false },
    stallTimeoutMs: 200,
    // Exceeds the buffers of the kernel and the stream.
    handle: async ({ response, upgrade }) => {
      upgrade!.socket.once('close', ended.resolve);
      response.end(Buffer.alloc(64 * 1024 * 1024));
    },
  });
  t.after(async () => {
    contexts.close();
    await listener.close();
    await rm(folder, { recursive: true, force: true });
  });
  const { port } = (await listener.address())!;
  const client = connect({ port, host: '127.0.0.1', rejectUnauthorized: false }, () => {
    client.pause().write('GET /pods HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n');
  });
  client.on('error', () => {});
  await ended.promise;
  client.destroy();
});

test('the client certificate is that of the handshake, also when the socket returns another one later', async (t) => {
  const authority = new TestAuthority('ca');
  const context = createSecureContext({ ...authority.issue({ commonName: 'node' }), ca: authority.cert });
  const contexts = { current: { context, clientCAGeneration: 7 }, onChange: () => {}, clientCAGenerationOf: () => 7 };
  const listener: Listener = new Listener({
    name: 'test',
    listen: anyPort,
    logger: aLogger().logger,
    connections: { unauthorized: 10, unauthorizedPerAddress: 10, authorized: 10 },
    tls: { contexts, requestCert: true },
    handle: async ({ request, response }) => {
      const later = { getPeerX509Certificate: () => undefined, authorized: true };
      const { certificate, fault, generation } = listener.peerCertificate(Object.assign(request.socket, later));
      response.end(JSON.stringify([certificate?.subject.at(-1)?.value, fault, generation]));
    },
  });
  t.after(() => listener.close());
  const { port } = (await listener.address())!;
  const ask = async (client: object) => {
    const sent = request({ host: '127.0.0.1', port, rejectUnauthorized: false, agent: false, ...client }).end();
    const [response] = (await once(sent, 'response')) as [IncomingMessage];
    return JSON.parse(await text(response)) as unknown;
  };
  assert.deepEqual(await ask(authority.issue({ commonName: 'jane' })), ['jane', '', 7]);
  // A curve without a NIST name.
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'brainpoolP256r1' });
  const cert = authority.certify(publicKey, { commonName: 'jan' });
  assert.deepEqual(await ask({ cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) }), [null, 'unsupported elliptic curve', 7]);
  const stranger = new TestAuthority('other').issue({ commonName: 'jane' });
  assert.deepEqual(await ask(stranger), [null, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 7]);
});

test('connections from one client port to several node addresses are counted and served separately', async (t) => {
  const authority = new TestAuthority('ca');
  const context = createSecureContext(authority.issue({ commonName: 'node' }));
  const listener = new Listener({
    name: 'test',
    listen: { address: '0.0.0.0', port: 0 },
    logger: aLogger().logger,
    connections: { unauthorized: 2, unauthorizedPerAddress: 2, authorized: 2 },
    tls: {
      contexts: { current: { context, clientCAGeneration: 0 }, onChange: () => {}, clientCAGenerationOf: () => 0 },
      requestCert: false,
    },
    handle: async ({ response }) => void response.end('served'),
  });
  const sockets: Socket[] = [];
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    return listener.close();
  });
  const { port } = (await listener.address())!;
  const open = async (host: string, localPort?: number): Promise<Socket> => {
    const socket = tcpConnect({ host, port, localAddress: '127.0.0.1', ...(localPort && { localPort }) });
    sockets.push(socket.on('error', () => {}));
    await once(socket, 'connect');
    return socket;
  };
  const assertServed = async (socket: Socket) => {
    const secured = connect({ socket, rejectUnauthorized: false });
    secured.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
    assert.match(String((await once(secured, 'data'))[0]), /^HTTP\/1\.1 200 /);
  };
  const first = await open('127.0.0.1');
  const { localPort } = first;
  const second = await open('127.0.0.2', localPort);
  await assertServed(first);
  await assertServed(second);
  const ended = Promise.race([once(first, 'close'), once(second, 'close')]);
  await open('127.0.0.3', localPort);
  await ended;
});
