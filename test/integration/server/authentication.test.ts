import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { Agent } from 'node:https';
import { connect as connectTcp, createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { connect as connectTls } from 'node:tls';
import * as der from '../../../src/shared/x509/der.ts';
import { extension, TestAuthority, type AuthorityTraits } from '../../support/api-server/certificates.ts';
import { aSecureServer } from '../../support/server/secure-server.ts';
import { secureSettings } from '../../support/server/server.ts';

const t = { after };
const certificatesOnly = { clientCAFile: '', reloadClientCAFile: true, webhook: null, anonymous: false };
const authorizationTTLs = { authorizedTTLMs: 60_000, unauthorizedTTLMs: 60_000 };
const authority = new TestAuthority('cluster-ca');
const admin = authority.issue({ commonName: 'admin', organizations: ['system:masters', 'staff'] });

test('a client certificate gives the user and groups of the access review', async () => {
  const reviewed: unknown[] = [];
  const { ask } = await aSecureServer(t, {
    clientCA: authority.cert,
    secure: { authentication: certificatesOnly, authorization: authorizationTTLs },
    mainApi: {
      reviewAccess: async (spec) => {
        reviewed.push(spec);
        return { allowed: true };
      },
    },
  });
  assert.equal((await ask('/pods', admin)).status, 200);
  const [spec] = reviewed as [{ user: string; groups: string[]; extra: Record<string, string[]>; resourceAttributes: unknown }];
  assert.equal(spec.user, 'admin');
  assert.deepEqual(spec.groups, ['system:masters', 'staff', 'system:authenticated']);
  assert.match(spec.extra['authentication.kubernetes.io/credential-id']![0]!, /^X509SHA256=[0-9a-f]{64}$/);
  assert.deepEqual(spec.resourceAttributes, { verb: 'get', version: 'v1', resource: 'nodes', subresource: 'pods', name: 'node-1' });
});

const jane = { commonName: 'admin' };
const unknownExtension = extension('1.2.3.4.5', der.boolean(true), true);
const dnsName = (name: string) => der.implicit(2, Buffer.from(name));
const onlyGoodExample = extension('2.5.29.30', der.sequence(der.explicit(0, der.sequence(dnsName('good.example')))), true);
const evilExample = extension('2.5.29.17', der.sequence(dnsName('evil.example')));

/** A client that sends its certificate chain with an intermediate. */
function byIntermediate(traits: AuthorityTraits, parent = authority, extensions: der.Der[] = []): { cert: string; key: string } {
  const intermediate = new TestAuthority('intermediate', parent, traits);
  const { cert, key } = intermediate.issue({ ...jane, extensions });
  return { key, cert: cert + intermediate.cert + (parent === authority ? '' : parent.cert) };
}

function onRSA(modulusLength: number): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
  return { cert: authority.certify(publicKey, jane), key: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
}

/** The client itself allows weak parameters. */
const weak = { ciphers: 'DEFAULT:@SECLEVEL=0' };

const refused: { name: string; client: () => { cert: string; key: string } | object }[] = [
  { name: 'no certificate', client: () => ({}) },
  { name: 'a certificate of another CA', client: () => new TestAuthority('cluster-ca').issue({ commonName: 'admin' }) },
  {
    name: 'an expired certificate',
    client: () => authority.issue({ commonName: 'admin', validFromMs: Date.now() - 7_200_000, validToMs: Date.now() - 1000 }),
  },
  { name: 'a certificate that is not yet valid', client: () => authority.issue({ commonName: 'admin', validFromMs: Date.now() + 60_000 }) },
  { name: 'a certificate for servers', client: () => authority.issue({ commonName: 'admin', usages: ['server'] }) },
  {
    name: 'a certificate for any usage, which OpenSSL does not accept for clients',
    client: () => authority.issue({ ...jane, usages: ['any'] }),
  },
  { name: 'a signature with SHA-1', client: () => authority.issue({ ...jane, hash: 'sha1' }) },
  { name: 'a signature with SHA-224', client: () => authority.issue({ ...jane, hash: 'sha224' }) },
  { name: 'an unknown critical extension', client: () => authority.issue({ ...jane, extensions: [unknownExtension] }) },
  { name: 'an intermediate that may not sign', client: () => byIntermediate({ isAuthority: false }) },
  { name: 'an intermediate for servers', client: () => byIntermediate({ usages: ['server'] }) },
  { name: 'an intermediate that has expired', client: () => byIntermediate({ validToMs: Date.now() - 1000 }) },
  { name: 'an intermediate signed with SHA-1', client: () => byIntermediate({ hash: 'sha1' }) },
  { name: 'an intermediate signed with SHA-224', client: () => byIntermediate({ hash: 'sha224' }) },
  {
    name: 'a chain that is longer than its CA allows',
    client: () => byIntermediate({}, new TestAuthority('short', authority, { pathLength: 0 })),
  },
  {
    name: 'a name that violates the name constraints of its CA',
    client: () => byIntermediate({ extensions: [onlyGoodExample] }, authority, [evilExample]),
  },
  { name: 'a key of 1024 bits', client: () => onRSA(1024) },
  { name: 'a certificate without a common name', client: () => authority.issue({ organizations: ['system:masters'] }) },
  { name: 'a token, when tokens are not accepted', client: () => ({ headers: { Authorization: 'Bearer token' } }) },
];
test('a client without valid credentials gets a 401', async (context) => {
  const { ask } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: certificatesOnly } });
  for (const { name, client } of refused) {
    await context.test(name, async () => {
      const { status, body, headers } = await ask('/pods', { ...weak, ...client() });
      assert.deepEqual([status, body, headers['content-type']], [401, 'Unauthorized', 'text/plain; charset=utf-8']);
    });
  }
});

test('certificates that Go accepts are accepted', async (context) => {
  const { ask } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: certificatesOnly } });
  const accepted: Record<string, object> = {
    'signed by an intermediate': byIntermediate({}),
    'without usages': authority.issue({ ...jane, usages: [] }),
    'with an RSA key of 2048 bits': onRSA(2048),
  };
  for (const [name, client] of Object.entries(accepted)) {
    await context.test(name, async () => assert.equal((await ask('/pods', client)).status, 200));
  }
});

test('weak certificates are refused even when old TLS versions are allowed', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'old-tls-'));
  after(() => rmSync(folder, { recursive: true }));
  const tls = { ...secureSettings(folder).tls, minVersion: 'TLSv1' } as const;
  const { ask } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: certificatesOnly, tls } });
  const clients: Record<string, object> = {
    'SHA-1': authority.issue({ ...jane, hash: 'sha1' }),
    'an intermediate with SHA-1': byIntermediate({ hash: 'sha1' }),
    'a key of 512 bits': onRSA(512),
  };
  for (const [name, client] of Object.entries(clients)) {
    for (const maxVersion of ['TLSv1', 'TLSv1.2'] as const) {
      await context.test(`${name} over ${maxVersion}`, async () => {
        const status = await ask('/pods', { ...weak, minVersion: 'TLSv1', maxVersion, ...client }).then((answer) => answer.status, String);
        assert.match(String(status), /^401$|EPROTO|ECONNRESET/);
      });
    }
  }
  const { status } = await ask('/pods', { ...weak, minVersion: 'TLSv1', maxVersion: 'TLSv1', ...authority.issue(jane) });
  assert.equal(status, 200);
});

test('a client with an invalid certificate is not anonymous', async () => {
  const { ask } = await aSecureServer(t, {
    clientCA: authority.cert,
    secure: { authentication: { ...certificatesOnly, anonymous: true } },
  });
  assert.equal((await ask('/pods')).status, 200);
  assert.equal((await ask('/pods', new TestAuthority('other').issue({ commonName: 'admin' }))).status, 401);
});

test('an unverified client with many certificates is disconnected, a verified one is not', async () => {
  const { ask } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: certificatesOnly } });
  const other = new TestAuthority('other');
  const many = Array.from({ length: 150 }, () => other.cert).join('');
  const stranger = other.issue({ commonName: 'admin' });
  await assert.rejects(ask('/pods', { key: stranger.key, cert: stranger.cert + many }), { code: /ECONNRESET|EPIPE/ });
  assert.equal((await ask('/pods', stranger)).status, 401);
  assert.equal((await ask('/pods', { key: admin.key, cert: admin.cert + many })).status, 200);
});

test('a client with a verified certificate may send a request line of nearly 1 MiB, others may not', async () => {
  const { ask } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: certificatesOnly } });
  const outcome = (bytes: number, credentials: object) =>
    ask(`/pods?command=${'x'.repeat(bytes)}`, credentials).then(
      ({ status }) => status,
      // The server answers 431 and closes, while the client still sends.
      (err: NodeJS.ErrnoException) => (/ECONNRESET|EPIPE/.test(err.code ?? '') ? 431 : err),
    );
  const stranger = new TestAuthority('other').issue({ commonName: 'admin' });
  // The limit of one connection is not that of the next.
  for (let round = 0; round < 2; round += 1) {
    assert.deepEqual([await outcome(1_000_000, admin), await outcome(100_000, stranger), await outcome(100_000, {})], [200, 431, 431]);
  }
  assert.deepEqual(await Promise.all([outcome(1_000_000, admin), outcome(100_000, stranger)]), [200, 431]);
  assert.equal(await outcome(1_100_000, admin), 431);
});

test('a stalled handshake with many certificates is ended before the handshake timeout', async () => {
  const { port } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: certificatesOnly } });
  const upstream = connectTcp(port, '127.0.0.1');
  const ended = once(
    upstream.on('error', () => {}),
    'close',
  );
  let left = 80 * 1024;
  // A proxy that withholds the client's last bytes.
  const proxy = createServer((downstream) => {
    upstream.pipe(downstream.on('error', () => {}));
    downstream.on('data', (data: Buffer) => {
      upstream.write(data.subarray(0, left));
      left = Math.max(0, left - data.length);
    });
  });
  proxy.listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  const stranger = new TestAuthority('other');
  const { cert, key } = stranger.issue({ commonName: 'admin' });
  const many = Array.from({ length: 300 }, () => stranger.cert).join('');
  const client = connectTls({
    port: (proxy.address() as AddressInfo).port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    key,
    cert: cert + many,
  });
  const startedAtMs = Date.now();
  await ended;
  client.on('error', () => {}).destroy();
  proxy.close();
  // A handshake may take ten seconds.
  assert.ok(Date.now() - startedAtMs < 8000 && left === 0);
});

test('a valid token is accepted in spite of an invalid certificate', async () => {
  const { ask } = await aSecureServer(t, {
    clientCA: authority.cert,
    secure: { authentication: { ...certificatesOnly, webhook: { cacheTTLMs: 60_000 } } },
    mainApi: { reviewToken: async (token) => ({ authenticated: token === 'good', user: { username: 'jane' } }) },
  });
  const stranger = new TestAuthority('other').issue({ commonName: 'admin' });
  const by = async (token: string) => (await ask('/pods', { ...stranger, headers: { Authorization: `Bearer ${token}` } })).status;
  assert.deepEqual([await by('good'), await by('bad')], [200, 401]);
});

test('every certificate of the CA bundle is trusted, and intermediates that a client sends are used', async () => {
  const intermediate = new TestAuthority('intermediate', authority);
  const client = intermediate.issue({ commonName: 'admin' });
  const partial = await aSecureServer(t, { clientCA: intermediate.cert, secure: { authentication: certificatesOnly } });
  assert.equal((await partial.ask('/pods', client)).status, 200);
  assert.equal((await partial.ask('/pods', admin)).status, 401);
  const whole = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: certificatesOnly } });
  assert.equal((await whole.ask('/pods', client)).status, 401);
  assert.equal((await whole.ask('/pods', { key: client.key, cert: client.cert + intermediate.cert })).status, 200);
});

test('a changed client CA file is used without a restart, and the old CA is rejected also on open connections', async () => {
  const { ask, clientCAFile } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: certificatesOnly } });
  const agent = new Agent({ keepAlive: true, maxSockets: 1, ...admin });
  assert.equal((await ask('/pods', { agent })).status, 200);
  const next = new TestAuthority('next-ca');
  const client = next.issue({ commonName: 'admin' });
  writeFileSync(clientCAFile, next.cert);
  while ((await ask('/pods', client)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal((await ask('/pods', { agent })).status, 401);
  agent.destroy();
  writeFileSync(clientCAFile, 'no certificate at all');
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal((await ask('/pods', client)).status, 200);
});

test('a handshake that started with the old client CA is not accepted with the new one', async () => {
  const { ask, clientCAFile, port } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: certificatesOnly } });
  const early = connectTcp(port, '127.0.0.1');
  await once(early, 'connect');
  // The early connection is accepted before the next one.
  assert.equal((await ask('/pods', admin)).status, 200);
  const next = new TestAuthority('next-ca');
  writeFileSync(clientCAFile, next.cert);
  const client = next.issue({ commonName: 'admin' });
  while ((await ask('/pods', client)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
  const createConnection = () => connectTls({ socket: early, rejectUnauthorized: false, ...admin });
  assert.equal((await ask('/pods', { createConnection, agent: undefined })).status, 401);
});

test('no client is authenticated before the client CA file is valid', async () => {
  const { ask, clientCAFile } = await aSecureServer(t, { clientCA: 'not yet', secure: { authentication: certificatesOnly } });
  assert.equal((await ask('/pods', admin)).status, 401);
  writeFileSync(clientCAFile, authority.cert);
  while ((await ask('/pods', admin)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
});

test('accepted and refused token reviews are cached, failed ones are not', async () => {
  const reviewed: string[] = [];
  let down = true;
  const { ask } = await aSecureServer(t, {
    secure: { authentication: { ...certificatesOnly, webhook: { cacheTTLMs: 60_000 }, anonymous: true } },
    mainApi: {
      reviewToken: async (token) => {
        reviewed.push(token);
        if (token === 'unlucky' && down) throw new Error('the API server is gone');
        return token === 'bad' ? { authenticated: false } : { authenticated: true, user: { username: token } };
      },
    },
  });
  const by = async (token: string) => (await ask('/pods', { headers: { Authorization: `Bearer ${token}` } })).status;
  assert.deepEqual(await Promise.all(Array.from({ length: 10 }, () => by('good'))), Array(10).fill(200));
  assert.deepEqual([await by('good'), await by('bad'), await by('bad')], [200, 401, 401]);
  assert.deepEqual(reviewed, ['good', 'bad']);
  assert.equal(await by('unlucky'), 401);
  down = false;
  assert.equal(await by('unlucky'), 200);
  assert.equal((await ask('/pods')).status, 200);
});
