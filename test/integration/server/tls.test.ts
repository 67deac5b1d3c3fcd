import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { TestAuthority } from '../../support/api-server/certificates.ts';
import { aSecureServer } from '../../support/server/secure-server.ts';
import { secureSettings } from '../../support/server/server.ts';

const t = { after };

function handshake(
  port: number,
  options: ConnectionOptions = {},
): Promise<{ cn: string; protocol: string | null; cipher: string; authorized: boolean }> {
  return new Promise((resolve, reject) => {
    const socket: TLSSocket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options }, () => {
      const { CN } = socket.getPeerCertificate().subject;
      resolve({ cn: String(CN), protocol: socket.getProtocol(), cipher: socket.getCipher().name, authorized: socket.authorized });
      socket.destroy();
    });
    socket.on('error', reject);
  });
}

test('without a configured certificate a self-signed one is created, which clients can verify and restarts keep', async () => {
  const { port, folder, server } = await aSecureServer(t);
  const file = readFileSync(join(folder, 'kubelet.crt'), 'utf8');
  const [leaf = '', ca = ''] = file.match(/-----BEGIN[^]+?-----END CERTIFICATE-----\n/g) ?? [];
  assert.equal(new X509Certificate(leaf).subjectAltName, 'DNS:node-1');
  assert.equal(statSync(join(folder, 'kubelet.key')).mode & 0o777, 0o600);
  assert.equal((await handshake(port, { ca, servername: 'node-1' })).authorized, true);
  assert.equal((await handshake(port, { ca, servername: 'node-2' })).authorized, false);
  await server.thread.kill();
  const again = (await server.addresses()).secure!.port;
  assert.equal((await handshake(again, { ca, servername: 'node-1' })).authorized, true);
  assert.equal(readFileSync(join(folder, 'kubelet.crt'), 'utf8'), file);
});

test('a renewed certificate is used by new connections, an incomplete pair is not, and no connection is lost', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'pair-'));
  after(() => rmSync(folder, { recursive: true }));
  const authority = new TestAuthority('ca');
  const put = (name: string) => {
    const { cert, key } = authority.issue({ commonName: name });
    writeFileSync(join(folder, 'tls.key'), key);
    writeFileSync(join(folder, 'tls.crt'), cert);
  };
  put('first');
  const tls = { ...secureSettings('').tls, certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key'), selfSignedFor: null };
  const { port, ask } = await aSecureServer(t, { secure: { tls } });
  assert.equal((await handshake(port)).cn, 'first');
  put('second');
  while ((await handshake(port)).cn !== 'second') await new Promise((resolve) => setTimeout(resolve, 20));
  writeFileSync(join(folder, 'tls.crt'), authority.issue({ commonName: 'third' }).cert);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal((await handshake(port)).cn, 'second');
  put('fourth');
  while ((await handshake(port)).cn !== 'fourth') await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal((await ask('/healthz')).status, 200);
});

test('handshakes fail before main has sent the certificate, and a restarted thread keeps it', async () => {
  const tls = { ...secureSettings('').tls, certFile: '', keyFile: '', selfSignedFor: null };
  const { port, server } = await aSecureServer(t, { secure: { tls } });
  await assert.rejects(handshake(port));
  const authority = new TestAuthority('ca');
  await server.setServingCertificate(authority.issue({ commonName: 'system:node:node-1' }));
  assert.equal((await handshake(port)).cn, 'system:node:node-1');
  await server.thread.kill();
  assert.equal((await handshake((await server.addresses()).secure!.port)).cn, 'system:node:node-1');
});

test('TLS versions, cipher suites and groups are configurable', async () => {
  const { tls } = secureSettings('');
  const of = async (over: Partial<typeof tls>) => {
    const folder = mkdtempSync(join(tmpdir(), 'tls-'));
    after(() => rmSync(folder, { recursive: true }));
    const files = { certFile: join(folder, 'kubelet.crt'), keyFile: join(folder, 'kubelet.key') };
    return (await aSecureServer(t, { secure: { tls: { ...tls, ...files, ...over } } })).port;
  };
  const usual = await of({});
  assert.equal((await handshake(usual)).protocol, 'TLSv1.3');
  assert.equal((await handshake(usual, { maxVersion: 'TLSv1.2' })).protocol, 'TLSv1.2');
  await assert.rejects(handshake(usual, { maxVersion: 'TLSv1.1', minVersion: 'TLSv1.1', ciphers: 'DEFAULT:@SECLEVEL=0' }));
  const newest = await of({ minVersion: 'TLSv1.3' });
  await assert.rejects(handshake(newest, { maxVersion: 'TLSv1.2' }));
  const oldest = await of({ minVersion: 'TLSv1' });
  const old = await handshake(oldest, { minVersion: 'TLSv1', maxVersion: 'TLSv1', ciphers: 'DEFAULT:@SECLEVEL=0' });
  assert.equal(old.protocol, 'TLSv1');
  const chosen = await of({ ciphers: 'TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES256-GCM-SHA384', curves: 'P-384' });
  assert.equal((await handshake(chosen, { maxVersion: 'TLSv1.2' })).cipher, 'ECDHE-ECDSA-AES256-GCM-SHA384');
  await assert.rejects(handshake(chosen, { maxVersion: 'TLSv1.2', ciphers: 'ECDHE-ECDSA-AES128-GCM-SHA256' }));
  await assert.rejects(handshake(chosen, { ecdhCurve: 'P-256' }));
});
