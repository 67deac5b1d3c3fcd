import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { connect } from 'node:tls';
import { Listener } from '../../../src/workers/server/listener.ts';
import { TlsContexts } from '../../../src/workers/server/tls/contexts.ts';
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
    maxConnections: 10,
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
