import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { connect, createSecureContext } from 'node:tls';
import { Listener } from '../../../src/workers/server/listener.ts';
import { TlsContexts } from '../../../src/workers/server/tls/contexts.ts';
import { TestAuthority } from '../../support/certificates.ts';
import { aLogger } from '../../support/logger.ts';
import { anyPort, secureSettings } from '../../support/server.ts';

test('a connection that asked for another protocol and was given none ends, though its client takes nothing', async (t) => {
  const ended = Promise.withResolvers<void>();
  const folder = await mkdtemp(join(tmpdir(), 'listener-'));
  const { logger } = aLogger();
  const { tls } = secureSettings(folder);
  const contexts = await TlsContexts.start({ tls, clientCAFile: '', reloadClientCAFile: false, servingCertificate: null, logger });
  const listener = new Listener({
    name: 'test',
    listen: anyPort,
    logger,
    connections: { strangers: 10, strangersPerAddress: 10, admitted: 10 },
    tls: { contexts, requestCert: false },
    stalledMs: 200,
    // More than the kernel and a stream hold for one who does not read.
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

test('a client stays who its handshake showed, whatever certificate the connection shows later', async (t) => {
  const authority = new TestAuthority('ca');
  const context = createSecureContext({ ...authority.issue({ commonName: 'node' }), ca: authority.cert });
  const contexts = { current: { context, clientCAGeneration: 7 }, onChange: () => {}, clientCAGenerationOf: () => 7 };
  const listener: Listener = new Listener({
    name: 'test',
    listen: anyPort,
    logger: aLogger().logger,
    connections: { strangers: 10, strangersPerAddress: 10, admitted: 10 },
    tls: { contexts, requestCert: true },
    handle: async ({ request, response }) => {
      const later = { getPeerX509Certificate: () => undefined, authorized: true };
      const { certificate, fault, generation } = listener.peer(Object.assign(request.socket, later));
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
  // Its curve has no NIST name.
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'brainpoolP256r1' });
  const cert = authority.certify(publicKey, { commonName: 'jan' });
  assert.deepEqual(await ask({ cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) }), [null, 'unsupported elliptic curve', 7]);
  const stranger = new TestAuthority('other').issue({ commonName: 'jane' });
  assert.deepEqual(await ask(stranger), [null, 'UNABLE_TO_VERIFY_LEAF_SIGNATURE', 7]);
});
