/** Which credentials a kubelet starts with and requests with, and the files that it leaves, for each state of kubeconfig and certificate folder. */
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { test, type TestContext } from 'node:test';
import { stringify } from 'yaml';
import { loadKubeconfig } from '../../../src/main/api/index.ts';
import { ClientCredentials, type ClientCredentialsOptions } from '../../../src/main/certificates/index.ts';
import type { ApiConnection } from '../../../src/main/api/index.ts';
import type { CertificateRequest } from '../../support/api-server/certificates.ts';
import { ScriptedSigner } from '../../support/certificates/scripted-signer.ts';
import { advanceUntil, until } from '../../support/certificates/until.ts';
import { FakeClock, settle } from '../../support/fake-clock.ts';
import { aLogger } from '../../support/logger.ts';

const hour = 3_600_000;
const node = { commonName: 'system:node:node-a', organizations: ['system:nodes'] };
const noSignal = new AbortController().signal;

function setUp(t: TestContext) {
  const folder = mkdtempSync(join(tmpdir(), 'credentials-'));
  const signer = new ScriptedSigner();
  const clock = new FakeClock(Date.now());
  const { logger, lines } = aLogger();
  const paths = {
    kubeconfig: join(folder, 'etc/kubelet.conf'),
    bootstrap: join(folder, 'bootstrap.conf'),
    pki: join(folder, 'pki'),
    current: join(folder, 'pki/kubelet-client-current.pem'),
  };
  mkdirSync(join(folder, 'etc'));
  const open: ClientCredentials[] = [];
  t.after(async () => {
    for (const credentials of open) await credentials.close();
    spawnSync('umount', [dirname(paths.kubeconfig)]);
    rmSync(folder, { recursive: true });
  });
  /** The kubeconfigs whose credentials were used for requests. */
  const connected: string[] = [];
  let recoveries = 0;
  const prepare = async (over: Partial<ClientCredentialsOptions> = {}) => {
    const credentials = await ClientCredentials.prepare({
      kubeconfigPath: paths.kubeconfig,
      bootstrapPath: paths.bootstrap,
      certDirectory: paths.pki,
      nodeName: 'node-a',
      rotates: true,
      connect: async (path) => {
        await loadKubeconfig(path);
        connected.push(path);
        return { client: signer.api, close: async () => {} } as unknown as ApiConnection;
      },
      clock,
      logger,
      ...over,
    });
    if (credentials) open.push(credentials);
    return credentials;
  };
  const start = async (over: Partial<ClientCredentialsOptions> = {}) => {
    const credentials = await prepare(over);
    assert.ok(credentials);
    credentials.start({ client: signer.api, announceRecovery: () => (recoveries += 1) });
    return credentials;
  };
  const requested = async (count: number) => {
    await until(`${count} requests`, () => signer.created.length === count && signer.api.watches.some(({ isOpen }) => isOpen));
  };
  const writeKubeconfig = (path: string, user: object) =>
    writeFileSync(
      path,
      stringify({
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          {
            name: 'c',
            cluster: {
              server: 'https://192.0.2.1:6443',
              'certificate-authority-data': Buffer.from(signer.authority.cert).toString('base64'),
            },
          },
        ],
        users: [{ name: 'u', user }],
        contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
        'current-context': 'x',
      }),
    );
  const valid = (): CertificateRequest => ({ ...node, validFromMs: clock.now() - hour, validToMs: clock.now() + 10 * hour });
  const expired = (): CertificateRequest => ({ ...node, validFromMs: clock.now() - 2 * hour, validToMs: clock.now() - hour });
  const storePair = (content: string) => {
    mkdirSync(paths.pki, { recursive: true });
    const file = join(paths.pki, 'kubelet-client-2026-01-02-03-04-05.pem');
    writeFileSync(file, content, { mode: 0o600 });
    symlinkSync(file, paths.current);
  };
  const certificateOf = async (credentials: ClientCredentials) =>
    (await credentials.identities.current(noSignal)).clientCertificate?.cert.toString();
  writeKubeconfig(paths.bootstrap, { token: 'abcdef.0123456789abcdef' });
  return {
    folder,
    signer,
    clock,
    lines,
    paths,
    connected,
    prepare,
    start,
    requested,
    writeKubeconfig,
    valid,
    expired,
    storePair,
    certificateOf,
    recoveries: () => recoveries,
  };
}

const stored = { 'client-certificate': 'pki/kubelet-client-current.pem', 'client-key': 'pki/kubelet-client-current.pem' };

test('with rotation, the kubeconfig is written before the certificate is there', async (t) => {
  const { start, requested, signer, valid, paths, connected, certificateOf, recoveries } = setUp(t);
  const credentials = await start();
  await requested(1);
  await until('the kubeconfig', () => existsSync(paths.kubeconfig));
  assert.match(readFileSync(paths.kubeconfig, 'utf8'), new RegExp(`client-certificate: ${paths.current}`));
  assert.deepEqual(connected, [paths.bootstrap]);
  await assert.rejects(credentials.identities.current(noSignal), /the cluster has not issued a client certificate yet/);
  signer.issue(valid());
  await until('the file', () => existsSync(paths.current));
  assert.ok((await certificateOf(credentials))?.startsWith('-----BEGIN CERTIFICATE'));
  assert.equal(recoveries(), 1);
});

test('without rotation, the kubeconfig is written when the certificate is there, and the file is followed', async (t) => {
  const { start, requested, signer, valid, paths, certificateOf, clock } = setUp(t);
  const credentials = await start({ rotates: false });
  await requested(1);
  assert.ok(!existsSync(paths.kubeconfig));
  signer.issue(valid());
  await until('the kubeconfig', () => existsSync(paths.kubeconfig));
  const next = signer.authority.issue(valid());
  writeFileSync(paths.current, next.cert + next.key);
  let current: string | undefined;
  await advanceUntil(clock, 'the new file is used', () => {
    void certificateOf(credentials).then((cert) => (current = cert));
    return current?.includes(next.cert) ?? false;
  });
  assert.equal(signer.created.length, 1);
});

test('a kubeconfig with a valid certificate needs nothing without rotation, and no bootstrap with it', async (t) => {
  const { prepare, start, writeKubeconfig, storePair, signer, valid, paths, certificateOf } = setUp(t);
  const pair = signer.authority.issue(valid());
  storePair(pair.cert + pair.key);
  writeKubeconfig(paths.kubeconfig, { 'client-certificate': paths.current, 'client-key': paths.current });
  assert.equal(await prepare({ rotates: false }), null);
  const credentials = await start();
  assert.equal(await certificateOf(credentials), pair.cert);
  await settle();
  assert.equal(signer.created.length, 0);
});

const unusable: [name: string, content: (env: ReturnType<typeof setUp>) => string][] = [
  ['expired', ({ signer, expired }) => Object.values(signer.authority.issue(expired())).join('')],
  ['broken', () => '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n'],
  ['empty', () => ''],
  ["with another certificate's key", ({ signer, valid }) => signer.authority.issue(valid()).cert + signer.authority.issue(valid()).key],
];
for (const [name, content] of unusable) {
  test(`a certificate that is ${name} is replaced with the bootstrap credentials`, async (t) => {
    const env = setUp(t);
    env.storePair(content(env));
    env.writeKubeconfig(env.paths.kubeconfig, { 'client-certificate': env.paths.current, 'client-key': env.paths.current });
    const credentials = await env.start();
    await env.requested(1);
    assert.deepEqual(env.connected, [env.paths.bootstrap]);
    env.signer.issue(env.valid());
    await until('the certificate', () => readFileSync(env.paths.current, 'utf8').includes('EC PRIVATE KEY') && env.recoveries() === 1);
    assert.ok(await env.certificateOf(credentials));
  });
}

test('an expired certificate stays in use while there is no bootstrap kubeconfig, and is replaced once there is one', async (t) => {
  const { start, writeKubeconfig, storePair, signer, expired, paths, certificateOf, connected, clock, requested, lines } = setUp(t);
  rmSync(paths.bootstrap);
  const pair = signer.authority.issue(expired());
  storePair(pair.cert + pair.key);
  writeKubeconfig(paths.kubeconfig, { 'client-certificate': paths.current, 'client-key': paths.current });
  const credentials = await start();
  assert.equal(await certificateOf(credentials), pair.cert);
  assert.ok(lines.some(({ msg }) => msg === 'Unable to load the bootstrap kubeconfig'));
  await requested(1);
  assert.deepEqual(connected, [paths.kubeconfig]);
  signer.deny();
  writeKubeconfig(paths.bootstrap, { token: 'abcdef.0123456789abcdef' });
  await advanceUntil(clock, 'a request with the token', () => connected.includes(paths.bootstrap));
});

test('without kubeconfig and bootstrap kubeconfig the kubelet does not start', async (t) => {
  const { prepare, paths } = setUp(t);
  rmSync(paths.bootstrap);
  await assert.rejects(prepare(), { name: 'ConfigurationError', message: /unable to load bootstrap kubeconfig: .*no such file/ });
});

test("the certificate inside kubeadm's kubeconfig is stored and renewed at once, with itself", async (t) => {
  const { start, requested, writeKubeconfig, signer, valid, paths, connected, certificateOf } = setUp(t);
  const pair = signer.authority.issue({ ...valid(), organizations: ['system:masters'] });
  const base64 = (text: string) => Buffer.from(text).toString('base64');
  writeKubeconfig(paths.kubeconfig, { 'client-certificate-data': base64(pair.cert), 'client-key-data': base64(pair.key) });
  const credentials = await start({ bootstrapPath: '' });
  assert.ok(readFileSync(paths.current, 'utf8').startsWith(pair.cert));
  assert.equal(await certificateOf(credentials), pair.cert);
  await requested(1);
  assert.deepEqual(connected, [], 'its own client is used');
  assert.match(signer.last.metadata.name, /^csr-/);
});

test('a kubeconfig with a token requests the certificate itself', async (t) => {
  const { start, requested, writeKubeconfig, paths, connected } = setUp(t);
  writeKubeconfig(paths.kubeconfig, { token: 'a' });
  await start({ bootstrapPath: '' });
  await requested(1);
  assert.deepEqual(connected, [paths.kubeconfig]);
});

test('a kubeconfig without credentials that can be read is refused', async (t) => {
  const { prepare, writeKubeconfig, paths } = setUp(t);
  writeKubeconfig(paths.kubeconfig, stored);
  await assert.rejects(prepare({ bootstrapPath: '' }), { name: 'ConfigurationError', message: /has no credentials that can be read/ });
});

test('with a kubeconfig without credentials requests are anonymous, also the one for a certificate', async (t) => {
  const { start, requested, writeKubeconfig, paths, connected, lines } = setUp(t);
  writeKubeconfig(paths.kubeconfig, {});
  const credentials = await start({ bootstrapPath: '' });
  assert.deepEqual(await credentials.identities.current(noSignal), { authorization: undefined, clientCertificate: undefined });
  await requested(1);
  assert.deepEqual(connected, [paths.kubeconfig]);
  assert.ok(lines.some(({ msg }) => /has no credentials: requests to the API server are anonymous/.test(msg)));
});

test('a kubeconfig that can not be written is written later', async (t) => {
  const { start, requested, paths, lines, clock } = setUp(t);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', dirname(paths.kubeconfig)]);
  await start();
  await requested(1);
  await until('the error', () => lines.some(({ msg }) => msg === 'The kubeconfig can not be written'));
  execFileSync('mount', ['-o', 'remount,rw', dirname(paths.kubeconfig)]);
  await advanceUntil(clock, 'the kubeconfig', () => existsSync(paths.kubeconfig));
});
