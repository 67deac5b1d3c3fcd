/** The TLS parameters that a client can negotiate: those of Go's server, without OpenSSL's additions. */
import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect as connectPlain } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import { connect, type ConnectionOptions } from 'node:tls';
import { TestAuthority } from '../../support/api-server/certificates.ts';
import { aSecureServer } from '../../support/server/secure-server.ts';
import { secureSettings } from '../../support/server/server.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { clientHello, serverHello } from '../../support/server/tls-hello.ts';

const authority = new TestAuthority('cluster-ca');
const client = authority.issue({ commonName: 'jane' });
const authentication = { ...secureSettings('').authentication, anonymous: false };

/** Port of a server with an RSA key, which suites with RSA key exchange and most others need. */
let rsa: number;
let ecdsa: number;
const hooks = new Cleanups();
after(() => hooks.run());
before(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'handshake-'));
  hooks.after(() => rmSync(folder, { recursive: true }));
  const tls = { ...secureSettings('').tls, certFile: join(folder, 'tls.crt'), keyFile: join(folder, 'tls.key'), selfSignedFor: null };
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  writeFileSync(tls.keyFile, privateKey.export({ type: 'pkcs8', format: 'pem' }));
  writeFileSync(tls.certFile, authority.certify(publicKey, { commonName: 'node' }));
  rsa = (await aSecureServer(hooks, { clientCA: authority.cert, secure: { authentication, tls } })).port;
  ecdsa = (await aSecureServer(hooks, { clientCA: authority.cert, secure: { authentication } })).port;
});

/** Connects with a client that allows everything that OpenSSL supports. */
async function handshake(port: number, options: ConnectionOptions) {
  const ciphers = `${options.ciphers ?? 'ALL'}:@SECLEVEL=0`;
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...client, ...options, ciphers });
  try {
    await once(socket, 'secureConnect');
    return { cipher: socket.getCipher().name, signatures: socket.getSharedSigalgs() };
  } finally {
    socket.on('error', () => {}).destroy();
  }
}

const offers: { name: string; options: ConnectionOptions; agrees: boolean }[] = [
  { name: 'ECDHE with AES-GCM', options: { ciphers: 'ECDHE-RSA-AES128-GCM-SHA256', maxVersion: 'TLSv1.2' }, agrees: true },
  { name: 'ECDHE with CBC and SHA-1', options: { ciphers: 'ECDHE-RSA-AES128-SHA', maxVersion: 'TLSv1.2' }, agrees: true },
  { name: 'ECDHE with CBC and SHA-256', options: { ciphers: 'ECDHE-RSA-AES128-SHA256', maxVersion: 'TLSv1.2' }, agrees: false },
  { name: 'ECDHE with ARIA', options: { ciphers: 'ECDHE-ARIA128-GCM-SHA256', maxVersion: 'TLSv1.2' }, agrees: false },
  { name: 'RSA key exchange with AES-GCM', options: { ciphers: 'AES128-GCM-SHA256', maxVersion: 'TLSv1.2' }, agrees: false },
  { name: 'RSA key exchange with CBC', options: { ciphers: 'AES256-SHA', maxVersion: 'TLSv1.2' }, agrees: false },
  { name: 'RSA key exchange with CCM', options: { ciphers: 'AES128-CCM', maxVersion: 'TLSv1.2' }, agrees: false },
  { name: 'finite-field Diffie-Hellman', options: { ciphers: 'DHE-RSA-AES128-GCM-SHA256', maxVersion: 'TLSv1.2' }, agrees: false },
  { name: 'no authentication', options: { ciphers: 'aNULL', maxVersion: 'TLSv1.2' }, agrees: false },
  { name: 'no encryption', options: { ciphers: 'eNULL', maxVersion: 'TLSv1.2' }, agrees: false },
  { name: 'TLS 1.1', options: { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1' }, agrees: false },
  { name: 'CCM in TLS 1.3', options: { ciphers: 'TLS_AES_128_CCM_SHA256:ALL', minVersion: 'TLSv1.3' }, agrees: false },
  { name: 'the group X25519MLKEM768', options: { ecdhCurve: 'X25519MLKEM768' }, agrees: true },
  { name: 'the group P-521', options: { ecdhCurve: 'P-521' }, agrees: true },
  { name: 'the group X448', options: { ecdhCurve: 'X448' }, agrees: false },
  { name: 'a finite field in TLS 1.3', options: { ecdhCurve: 'ffdhe2048', minVersion: 'TLSv1.3' }, agrees: false },
  { name: 'a signature with SHA-256', options: { sigalgs: 'RSA+SHA256', maxVersion: 'TLSv1.2' }, agrees: true },
  { name: 'signatures with SHA-1 only', options: { sigalgs: 'RSA+SHA1', maxVersion: 'TLSv1.2' }, agrees: false },
  { name: 'signatures with SHA-224 only', options: { sigalgs: 'RSA+SHA224', maxVersion: 'TLSv1.2' }, agrees: false },
  { name: 'HTTP/1.1', options: { ALPNProtocols: ['h2', 'http/1.1'] }, agrees: true },
  { name: 'HTTP/2 only', options: { ALPNProtocols: ['h2'] }, agrees: false },
];
test('a handshake negotiates only what Go’s server offers', async (context) => {
  for (const { name, options, agrees } of offers) {
    await context.test(`${name} is ${agrees ? 'accepted' : 'refused'}`, async () => {
      if (agrees) await handshake(rsa, options);
      else
        await assert.rejects(handshake(rsa, options), ({ code }: NodeJS.ErrnoException) =>
          /^(ERR_SSL_|EPROTO|ECONNRESET)/.test(code ?? ''),
        );
    });
  }
});

test('the server chooses the cipher suite', async () => {
  const chosen = async (ciphers: string) => (await handshake(rsa, { ciphers, maxVersion: 'TLSv1.2' })).cipher;
  const [strong, quick, chacha] = ['ECDHE-RSA-AES256-GCM-SHA384', 'ECDHE-RSA-AES128-GCM-SHA256', 'ECDHE-RSA-CHACHA20-POLY1305'];
  assert.equal(await chosen(`${strong}:${quick}`), quick);
  assert.equal(await chosen(`${strong}:${chacha}:${quick}`), quick);
  assert.equal(await chosen(`${chacha}:${quick}`), chacha);
});

test('the server requests Go’s signature algorithms for client certificates', async () => {
  const { signatures } = await handshake(ecdsa, { maxVersion: 'TLSv1.2' });
  const names = ['RSA-PSS+SHA256', 'ECDSA+SHA256', 'Ed25519+UNDEF', 'RSA-PSS+SHA384', 'RSA-PSS+SHA512'];
  const more = ['RSA+SHA256', 'RSA+SHA384', 'RSA+SHA512', 'ECDSA+SHA384', 'ECDSA+SHA512'];
  assert.deepEqual(signatures.toSorted(), [...names, ...more].toSorted());
});

for (const maxVersion of ['TLSv1.2', 'TLSv1.3'] as const) {
  test(`a session of ${maxVersion} is not resumed`, async () => {
    const options = { port: ecdsa, host: '127.0.0.1', rejectUnauthorized: false, maxVersion, ...client };
    const first = connect(options);
    const sessions: Buffer[] = [];
    first.on('session', (session) => sessions.push(session));
    await once(first, 'secureConnect');
    const closed = once(first, 'close');
    first.on('data', () => {}).write('GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    await closed;
    const session = sessions.at(-1) ?? first.getSession();
    const second = connect({ ...options, ...(session && { session }) });
    await once(second, 'secureConnect');
    assert.equal(second.isSessionReused(), false);
    second.destroy();
  });
}

test('the server accepts no compression and no extension that Go does not support', async () => {
  const offered = { compressions: [1, 0], extensions: { heartbeat: 15, sessionTicket: 35 } };
  const { compression, extensions } = await serverHello(ecdsa, clientHello(offered));
  assert.equal(compression, 0);
  assert.ok(!extensions.includes(15) && !extensions.includes(35), String(extensions));
});

/** Resolves with all that the server sends until it closes the connection. */
async function replyInPlain(port: number, request: string): Promise<string> {
  const socket = connectPlain(port, '127.0.0.1');
  socket.write(request);
  return text(socket);
}

const plainReply = 'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n';
for (const method of ['GET', 'HEAD', 'POST', 'PUT'])
  test(`${method} in plain HTTP gets Go's answer`, async () => {
    assert.equal(await replyInPlain(rsa, `${method} /healthz HTTP/1.1\r\nHost: node\r\n\r\n`), plainReply);
  });
test('other bytes than TLS and HTTP get no such answer', async () => {
  assert.doesNotMatch(await replyInPlain(rsa, 'SSH-2.0-OpenSSH_9.2\r\n'.repeat(10)).catch(String), /HTTP/);
});
