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
import { extension, TestAuthority, type AuthorityTraits } from '../../support/certificates.ts';
import { aSecureServer } from '../../support/secure-server.ts';
import { secureSettings } from '../../support/server.ts';

const t = { after };
const nobody = { clientCAFile: '', reloadClientCAFile: true, webhook: null, anonymous: false };
const everybodyAsked = { authorizedTTLMs: 60_000, unauthorizedTTLMs: 60_000 };
const authority = new TestAuthority('cluster-ca');
const admin = authority.issue({ commonName: 'admin', organizations: ['system:masters', 'staff'] });

test('a client with a certificate of the cluster is who it says, and what it may do is asked with its groups', async () => {
  const asked: unknown[] = [];
  const { ask } = await aSecureServer(t, {
    clientCA: authority.cert,
    secure: { authentication: nobody, authorization: everybodyAsked },
    mainApi: {
      reviewAccess: async (spec) => {
        asked.push(spec);
        return { allowed: true };
      },
    },
  });
  assert.equal((await ask('/pods', admin)).status, 200);
  const [spec] = asked as [{ user: string; groups: string[]; extra: Record<string, string[]>; resourceAttributes: unknown }];
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

/** A client that brings what signed its certificate, and what signed that. */
function byIntermediate(traits: AuthorityTraits, parent = authority, extensions: der.Der[] = []): { cert: string; key: string } {
  const intermediate = new TestAuthority('intermediate', parent, traits);
  const { cert, key } = intermediate.issue({ ...jane, extensions });
  return { key, cert: cert + intermediate.cert + (parent === authority ? '' : parent.cert) };
}

function onRSA(modulusLength: number): { cert: string; key: string } {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength });
  return { cert: authority.certify(publicKey, jane), key: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
}

/** The client has no scruples of its own. */
const weak = { ciphers: 'DEFAULT:@SECLEVEL=0' };

const refused: { name: string; client: () => { cert: string; key: string } | object }[] = [
  { name: 'no certificate', client: () => ({}) },
  { name: 'a certificate of another authority', client: () => new TestAuthority('cluster-ca').issue({ commonName: 'admin' }) },
  {
    name: 'an expired certificate',
    client: () => authority.issue({ commonName: 'admin', validFromMs: Date.now() - 7_200_000, validToMs: Date.now() - 1000 }),
  },
  { name: 'a certificate from the future', client: () => authority.issue({ commonName: 'admin', validFromMs: Date.now() + 60_000 }) },
  { name: 'a certificate for servers', client: () => authority.issue({ commonName: 'admin', usages: ['server'] }) },
  {
    name: 'a certificate for any use, which OpenSSL does not take for clients',
    client: () => authority.issue({ ...jane, usages: ['any'] }),
  },
  { name: 'a signature with SHA-1', client: () => authority.issue({ ...jane, hash: 'sha1' }) },
  { name: 'a signature with SHA-224', client: () => authority.issue({ ...jane, hash: 'sha224' }) },
  { name: 'a critical extension that nobody knows', client: () => authority.issue({ ...jane, extensions: [unknownExtension] }) },
  { name: 'an intermediate that may not sign', client: () => byIntermediate({ isAuthority: false }) },
  { name: 'an intermediate for servers', client: () => byIntermediate({ usages: ['server'] }) },
  { name: 'an intermediate that has expired', client: () => byIntermediate({ validToMs: Date.now() - 1000 }) },
  { name: 'an intermediate signed with SHA-1', client: () => byIntermediate({ hash: 'sha1' }) },
  { name: 'an intermediate signed with SHA-224', client: () => byIntermediate({ hash: 'sha224' }) },
  {
    name: 'a chain longer than its authority allows',
    client: () => byIntermediate({}, new TestAuthority('short', authority, { pathLength: 0 })),
  },
  {
    name: 'a name that its authority may not give',
    client: () => byIntermediate({ extensions: [onlyGoodExample] }, authority, [evilExample]),
  },
  { name: 'a key of 1024 bits', client: () => onRSA(1024) },
  { name: 'a certificate without a name', client: () => authority.issue({ organizations: ['system:masters'] }) },
  { name: 'a token, while tokens are not looked at', client: () => ({ headers: { Authorization: 'Bearer token' } }) },
];
test('whoever can not say who it is gets a 401', async (context) => {
  const { ask } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: nobody } });
  for (const { name, client } of refused) {
    await context.test(name, async () => {
      const { status, body, headers } = await ask('/pods', { ...weak, ...client() });
      assert.deepEqual([status, body, headers['content-type']], [401, 'Unauthorized', 'text/plain; charset=utf-8']);
    });
  }
});

test('certificates that Go takes are taken', async (context) => {
  const { ask } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: nobody } });
  const taken: Record<string, object> = {
    'of an intermediate': byIntermediate({}),
    'without a restriction of their use': authority.issue({ ...jane, usages: [] }),
    'on an RSA key of 2048 bits': onRSA(2048),
  };
  for (const [name, client] of Object.entries(taken)) {
    await context.test(name, async () => assert.equal((await ask('/pods', client)).status, 200));
  }
});

test('where old TLS versions are allowed, weak certificates still are not', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'old-tls-'));
  after(() => rmSync(folder, { recursive: true }));
  const tls = { ...secureSettings(folder).tls, minVersion: 'TLSv1' } as const;
  const { ask } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: nobody, tls } });
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

test('where guests are let in, one with a bad certificate is none of them', async () => {
  const { ask } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: { ...nobody, anonymous: true } } });
  assert.equal((await ask('/pods')).status, 200);
  assert.equal((await ask('/pods', new TestAuthority('other').issue({ commonName: 'admin' }))).status, 401);
});

test('a stranger with many certificates is cut off, and a client of the cluster is not', async () => {
  const { ask } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: nobody } });
  const other = new TestAuthority('other');
  const many = Array.from({ length: 150 }, () => other.cert).join('');
  const stranger = other.issue({ commonName: 'admin' });
  await assert.rejects(ask('/pods', { key: stranger.key, cert: stranger.cert + many }), { code: /ECONNRESET|EPIPE/ });
  assert.equal((await ask('/pods', stranger)).status, 401);
  assert.equal((await ask('/pods', { key: admin.key, cert: admin.cert + many })).status, 200);
});

test('a handshake that sends many certificates and stalls is ended before its time', async () => {
  const { port } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: nobody } });
  const upstream = connectTcp(port, '127.0.0.1');
  const ended = once(
    upstream.on('error', () => {}),
    'close',
  );
  let left = 80 * 1024;
  // Between the two, so that the last of the client's bytes never come.
  const between = createServer((downstream) => {
    upstream.pipe(downstream.on('error', () => {}));
    downstream.on('data', (data: Buffer) => {
      upstream.write(data.subarray(0, left));
      left = Math.max(0, left - data.length);
    });
  });
  between.listen(0, '127.0.0.1');
  await once(between, 'listening');
  const stranger = new TestAuthority('other');
  const { cert, key } = stranger.issue({ commonName: 'admin' });
  const many = Array.from({ length: 300 }, () => stranger.cert).join('');
  const client = connectTls({
    port: (between.address() as AddressInfo).port,
    host: '127.0.0.1',
    rejectUnauthorized: false,
    key,
    cert: cert + many,
  });
  const began = Date.now();
  await ended;
  client.on('error', () => {}).destroy();
  between.close();
  // A handshake may take ten seconds.
  assert.ok(Date.now() - began < 8000 && left === 0);
});

test('a good token counts beside a bad certificate', async () => {
  const { ask } = await aSecureServer(t, {
    clientCA: authority.cert,
    secure: { authentication: { ...nobody, webhook: { cacheTTLMs: 60_000 } } },
    mainApi: { reviewToken: async (token) => ({ authenticated: token === 'good', user: { username: 'jane' } }) },
  });
  const stranger = new TestAuthority('other').issue({ commonName: 'admin' });
  const by = async (token: string) => (await ask('/pods', { ...stranger, headers: { Authorization: `Bearer ${token}` } })).status;
  assert.deepEqual([await by('good'), await by('bad')], [200, 401]);
});

test('what the bundle has is trusted, though it be no root, and intermediates that a client brings are used', async () => {
  const intermediate = new TestAuthority('intermediate', authority);
  const client = intermediate.issue({ commonName: 'admin' });
  const partial = await aSecureServer(t, { clientCA: intermediate.cert, secure: { authentication: nobody } });
  assert.equal((await partial.ask('/pods', client)).status, 200);
  assert.equal((await partial.ask('/pods', admin)).status, 401);
  const whole = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: nobody } });
  assert.equal((await whole.ask('/pods', client)).status, 401);
  assert.equal((await whole.ask('/pods', { key: client.key, cert: client.cert + intermediate.cert })).status, 200);
});

test('new authorities are taken without a restart, and old ones open no door any more, not even on an open connection', async () => {
  const { ask, clientCAFile } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: nobody } });
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

test('a handshake that began with the old authorities opens no door by the new ones', async () => {
  const { ask, clientCAFile, port } = await aSecureServer(t, { clientCA: authority.cert, secure: { authentication: nobody } });
  const early = connectTcp(port, '127.0.0.1');
  await once(early, 'connect');
  // It is taken before the next.
  assert.equal((await ask('/pods', admin)).status, 200);
  const next = new TestAuthority('next-ca');
  writeFileSync(clientCAFile, next.cert);
  const client = next.issue({ commonName: 'admin' });
  while ((await ask('/pods', client)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
  const createConnection = () => connectTls({ socket: early, rejectUnauthorized: false, ...admin });
  assert.equal((await ask('/pods', { createConnection, agent: undefined })).status, 401);
});

test('a client CA file that is not there lets nobody in, until it is', async () => {
  const { ask, clientCAFile } = await aSecureServer(t, { clientCA: 'not yet', secure: { authentication: nobody } });
  assert.equal((await ask('/pods', admin)).status, 401);
  writeFileSync(clientCAFile, authority.cert);
  while ((await ask('/pods', admin)).status !== 200) await new Promise((resolve) => setTimeout(resolve, 20));
});

test('a token is reviewed once for many requests, a refused one too, and a review that failed is not remembered', async () => {
  const asked: string[] = [];
  let down = true;
  const { ask } = await aSecureServer(t, {
    secure: { authentication: { ...nobody, webhook: { cacheTTLMs: 60_000 }, anonymous: true } },
    mainApi: {
      reviewToken: async (token) => {
        asked.push(token);
        if (token === 'unlucky' && down) throw new Error('the API server is gone');
        return token === 'bad' ? { authenticated: false } : { authenticated: true, user: { username: token } };
      },
    },
  });
  const by = async (token: string) => (await ask('/pods', { headers: { Authorization: `Bearer ${token}` } })).status;
  assert.deepEqual(await Promise.all(Array.from({ length: 10 }, () => by('good'))), Array(10).fill(200));
  assert.deepEqual([await by('good'), await by('bad'), await by('bad')], [200, 401, 401]);
  assert.deepEqual(asked, ['good', 'bad']);
  assert.equal(await by('unlucky'), 401);
  down = false;
  assert.equal(await by('unlucky'), 200);
  assert.equal((await ask('/pods')).status, 200);
});
