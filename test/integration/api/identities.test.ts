/** The API client's credentials and trusted servers: tokens, exec plugins, client certificates, certificate authorities. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { TestAuthority } from '../../support/api-server/certificates.ts';
import { sendJSON } from '../../support/api-server/scripted-api-server.ts';
import { FakeClock } from '../../support/fake-clock.ts';
import { aClient, getPod, isError, pod, server, useServer } from '../../support/api-server/api-client-suite.ts';

useServer();

test('a server with an untrusted certificate or another name gets no request', async () => {
  server.handle = (_request, response) => sendJSON(response, 200, pod);
  const { client } = await aClient({ token: 'secret' }, { cluster: { 'tls-server-name': 'elsewhere' } });
  await assert.rejects(client.call(getPod), isError(0, 'Unreachable'));
  const other = await aClient({ token: 'secret' }, { cluster: { 'certificate-authority': undefined } });
  await assert.rejects(other.client.call(getPod), isError(0, 'Unreachable'));
  const insecure = await aClient({}, { cluster: { 'certificate-authority': undefined, 'insecure-skip-tls-verify': true } });
  await insecure.client.call(getPod);
  assert.equal(server.requests.length, 1);
});

test('the certificate of a server must be valid for a tls-server-name that is an address', async () => {
  server.handle = (_request, response) => sendJSON(response, 200, pod);
  const at = (name: string) => aClient({}, { cluster: { server: `https://localhost:${server.port}`, 'tls-server-name': name } });
  assert.deepEqual(await (await at('127.0.0.1')).client.call(getPod), pod);
  await assert.rejects((await at('127.0.0.2')).client.call(getPod), isError(0, 'Unreachable'));
});

test('an intermediate authority is a trust anchor without its root', async (t) => {
  const intermediate = new TestAuthority('intermediate', new TestAuthority('root'));
  const { cert, key } = intermediate.issue({ commonName: 'kube-apiserver', address: '127.0.0.1' });
  const other = createServer({ cert, key }, (_request, response) => void response.end(JSON.stringify(pod)));
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  t.after(() => other.close());
  const trusting = (authority: TestAuthority) => ({
    server: `https://127.0.0.1:${(other.address() as AddressInfo).port}`,
    'certificate-authority': undefined,
    'certificate-authority-data': Buffer.from(authority.cert).toString('base64'),
  });
  const { client } = await aClient({}, { cluster: trusting(intermediate) });
  assert.deepEqual(await client.call(getPod), pod);
  const stranger = await aClient({}, { cluster: trusting(new TestAuthority('intermediate')) });
  await assert.rejects(stranger.client.call(getPod), isError(0, 'Unreachable'));
});

test('a kubeconfig with a missing or invalid file is rejected', async () => {
  const refused = (want: RegExp) => (err: Error) =>
    err.name === 'ConfigurationError' && err.message.startsWith('kubeconfig "') && want.test(err.message);
  const missing = { 'client-certificate': 'no-such.crt', 'client-key': 'no-such.key' };
  await assert.rejects(aClient(missing), refused(/client certificate: ENOENT.*no-such\.crt/));
  await assert.rejects(aClient({ tokenFile: 'no-such-token' }), refused(/failed to read token file ".*no-such-token"/));
  await assert.rejects(aClient({ tokenFile: '/dev/zero' }), refused(/not a regular file/));
  await assert.rejects(aClient({}, { cluster: { 'certificate-authority': 'ca.key' } }), refused(/ca\.key: has no certificate in PEM/));
  await assert.rejects(aClient({}, { cluster: { 'certificate-authority': './' } }), refused(/not a regular file|EISDIR/));
  await assert.rejects(aClient({}, { kubeconfigPath: '/no/such/kubeconfig' }), refused(/ENOENT/));
});

test('a 401 rereads the token file and repeats the call', async () => {
  const tokenFile = join(server.folder, 'token');
  writeFileSync(tokenFile, 'old\n');
  let good = 'old';
  server.handle = (request, response) => sendJSON(response, request.headers['authorization'] === `Bearer ${good}` ? 200 : 401, pod);
  const { client } = await aClient({ tokenFile: 'token' });
  await client.call(getPod);
  writeFileSync(tokenFile, 'new\n');
  good = 'new';
  await client.call({ ...getPod, method: 'POST', body: pod });
  good = 'other';
  await assert.rejects(client.call(getPod), isError(401, 'Unauthorized'));
  assert.deepEqual(
    server.requests.map((request) => request.headers['authorization']),
    ['old', 'old', 'new', 'new'].map((token) => `Bearer ${token}`),
  );
});

test('an exec plugin gets the cluster info, and its token is used', async () => {
  const seen = join(server.folder, 'exec-info');
  const script = `echo "$KUBERNETES_EXEC_INFO" > ${seen}; printf '{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1","status":{"token":"%s"}}' "$TOKEN"`;
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    interactiveMode: 'Never',
    command: 'sh',
    args: ['-c', script],
    env: [{ name: 'TOKEN', value: 'made' }],
    provideClusterInfo: true,
  };
  server.handle = (_request, response) => sendJSON(response, 200, pod);
  const { client } = await aClient({ exec });
  await client.call(getPod);
  assert.equal(server.requests[0]?.headers['authorization'], 'Bearer made');
  const { spec } = JSON.parse(readFileSync(seen, 'utf8')) as { spec: { interactive: boolean; cluster: Record<string, string> } };
  assert.deepEqual([spec.interactive, spec.cluster['server']], [false, server.url]);
  assert.deepEqual(Buffer.from(spec.cluster['certificate-authority-data']!, 'base64'), readFileSync(server.authority.certFile));
});

test('a missing or failing exec plugin is named in the error, and nothing is sent', async () => {
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1',
    interactiveMode: 'Never',
    command: './no-such-plugin',
    installHint: 'install it',
  };
  const missing = await aClient({ exec });
  await assert.rejects(missing.client.call(getPod), {
    code: 0,
    reason: 'Unauthorized',
    message: /no-such-plugin not found \(install it\)/,
  });
  const failing = await aClient({ exec: { ...exec, command: 'sh', args: ['-c', 'echo no such profile >&2; exit 3'] } });
  await assert.rejects(failing.client.call(getPod), { message: /sh failed with exit code 3: no such profile/ });
  assert.equal(server.requests.length, 0);
});

test('new connections present a renewed client certificate', async () => {
  const usages = ['clientAuth'] as const;
  const [old, renewed] = ['old', 'renewed'].map((name) => server.authority.issue(name, { commonName: name, usages }));
  const current = join(server.folder, 'kubelet-client-current.pem');
  const put = (files: typeof old) => writeFileSync(current, readFileSync(files!.certFile) + '' + readFileSync(files!.keyFile));
  put(old);
  server.handle = (request, response) => sendJSON(response, request.client === 'old' && server.requests.length > 1 ? 401 : 200, pod);
  const { client } = await aClient({ 'client-certificate': current, 'client-key': current });
  await client.call(getPod);
  put(renewed);
  await client.call(getPod);
  assert.deepEqual(
    server.requests.map(({ client: shown }) => shown),
    ['old', 'old', 'renewed'],
  );
});

test('the old certificate stays in use during an incomplete renewal', async () => {
  const [old, renewed] = ['half-old', 'half-renewed'].map((name) =>
    server.authority.issue(name, { commonName: name, usages: ['clientAuth'] }),
  );
  const paths = { certificate: join(server.folder, 'client.crt'), key: join(server.folder, 'client.key') };
  const put = (certificate: string, key: string) => {
    writeFileSync(paths.certificate, readFileSync(certificate));
    writeFileSync(paths.key, readFileSync(key));
  };
  put(old!.certFile, old!.keyFile);
  server.handle = (_request, response) => sendJSON(response, 200, pod);
  const clock = new FakeClock();
  const { client } = await aClient({ 'client-certificate': paths.certificate, 'client-key': paths.key }, { clock });
  await client.call(getPod);
  for (const key of [old!.keyFile, renewed!.keyFile]) {
    put(renewed!.certFile, key);
    await clock.advance(10_000);
    await client.call(getPod);
  }
  assert.deepEqual(
    server.requests.map(({ client: shown }) => shown),
    ['half-old', 'half-old', 'half-renewed'],
  );
});

test('new connections use a renewed certificate authority, and a broken file changes nothing', async () => {
  server.handle = (_request, response) => sendJSON(response, 200, pod);
  const file = join(server.folder, 'renewed-ca.crt');
  const authority = readFileSync(server.authority.certFile);
  writeFileSync(file, authority);
  const clock = new FakeClock();
  const { client } = await aClient({}, { cluster: { 'certificate-authority': file }, clock });
  await client.call(getPod);
  const before = server.connections;
  const steps: [content: string | Buffer, newConnections: number][] = [
    ['no certificate', 0],
    ['', 0],
    [authority, 0],
    [Buffer.concat([authority, Buffer.from('\n')]), 1],
  ];
  for (const [content, made] of steps) {
    writeFileSync(file, content);
    await clock.advance(5 * 60_000);
    await client.call(getPod);
    assert.equal(server.connections - before, made);
  }
});
