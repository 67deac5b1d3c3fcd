/** Hostile TLS clients of the built kubelet's secure port. */
import assert from 'node:assert/strict';
import { createPrivateKey, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, test, type TestContext } from 'node:test';
import { connect, type ConnectionOptions, type TLSSocket } from 'node:tls';
import { reservePort } from '../../../lab/host/reserve-ports.ts';
import { TestAuthority } from '../../support/api-server/certificates.ts';
import { ensureBuilt, RunningKubelet } from '../../support/kubelet/kubelet-command.ts';
import { prepareKubelet, waitUntilHealthy } from '../../support/kubelet/prepared-kubelet.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

before(ensureBuilt);

const authority = new TestAuthority('cluster-ca');
const client = authority.issue({ commonName: 'jane' });

/** Starts a kubelet that accepts only client certificates of the authority. `fields` are merged into its configuration. */
async function aKubelet(t: TestContext, fields: Record<string, unknown> = {}) {
  const port = await reservePort();
  const authentication = { anonymous: { enabled: false }, webhook: { enabled: false } };
  const prepared = await prepareKubelet(t, { address: '127.0.0.1', port, authorization: { mode: 'AlwaysAllow' } });
  const clientCAFile = join(prepared.folder, 'client-ca.crt');
  writeFileSync(clientCAFile, authority.cert);
  prepared.configure({ ...fields, authentication: { ...authentication, x509: { clientCAFile } } });
  const start = () => new RunningKubelet([...prepared.args, '--v=4']);
  const running = start();
  const dial = async (options: ConnectionOptions = {}): Promise<TLSSocket> => {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
    await once(socket, 'secureConnect');
    return socket;
  };
  const untilServed = () =>
    waitUntil(
      'the secure port answers',
      () =>
        dial().then(
          (socket) => socket.destroy(),
          () => false,
        ),
      60_000,
    );
  await untilServed();
  return { prepared, running, dial, start, untilServed, folder: prepared.folder };
}

/** Sends one request over an open connection. Returns the status line, or the reason why the connection ended. */
function sendRequest(socket: TLSSocket): Promise<string> {
  return new Promise((resolve) => {
    socket.once('data', (data) => resolve(data.toString().split('\r\n', 1)[0]!));
    socket.once('close', () => resolve('closed'));
    socket.once('error', (err) => resolve(String(err)));
    socket.write('GET /pods HTTP/1.1\r\nHost: node\r\n\r\n');
  });
}

test('a client cannot renegotiate: no second certificate can follow the verified one', async (t) => {
  const { dial, running } = await aKubelet(t);
  const socket = await dial({ ...client, maxVersion: 'TLSv1.2' });
  assert.equal(await sendRequest(socket), 'HTTP/1.1 200 OK');
  const refusal = await new Promise<Error | null>((resolve) => {
    socket.once('error', resolve);
    socket.renegotiate({ rejectUnauthorized: false }, resolve);
  });
  assert.match(String(refusal), /no.renegotiation/i);
  socket.destroy();
  running.kill('SIGTERM');
  assert.equal((await running.ended).code, 0);
});

test('a client certificate on a curve without a NIST name does not crash the server', async (t) => {
  const { dial, running } = await aKubelet(t);
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'brainpoolP256r1' });
  const cert = new TestAuthority('unknown').certify(publicKey, { commonName: 'jane' });
  const stranger = { cert, key: privateKey.export({ type: 'pkcs8', format: 'pem' }) };
  const response = await dial(stranger).then(sendRequest, String);
  assert.match(response, /401 Unauthorized|handshake|alert|closed/);
  assert.equal(await sendRequest(await dial(client)), 'HTTP/1.1 200 OK');
  running.kill('SIGTERM');
  assert.equal((await running.ended).code, 0);
});

test('the read-only port does not serve the configuration, which contains the password in staticPodURL', async (t) => {
  const readOnlyPort = await reservePort();
  const { running } = await aKubelet(t, { readOnlyPort, staticPodURL: 'http://user:secret@127.0.0.1:1/pods', staticPodPath: '' });
  const get = (path: string) => fetch(`http://127.0.0.1:${readOnlyPort}${path}`);
  assert.equal((await get('/pods')).status, 200);
  const { status } = await get('/configz');
  assert.equal(status, 404);
  running.kill('SIGTERM');
  const { stderr } = await running.ended;
  assert.match(stderr, /"Failed to read pods from URL" .*127\.0\.0\.1/);
  assert.doesNotMatch(stderr, /secret/);
});

test('an empty self-signed key pair is replaced at the next start', async (t) => {
  const { running, start, untilServed, folder } = await aKubelet(t);
  running.kill('SIGTERM');
  await running.ended;
  const [certFile, keyFile] = [join(folder, 'pki/kubelet.crt'), join(folder, 'pki/kubelet.key')];
  for (const file of [certFile, keyFile]) truncateSync(file);
  const again = start();
  await untilServed();
  again.kill('SIGTERM');
  const { stderr } = await again.ended;
  assert.match(
    stderr,
    /^E.*"the serving certificate was invalid and is replaced; its copies end in \.broken" err="the certificate is empty/m,
  );
  assert.ok(new X509Certificate(readFileSync(certFile)).checkPrivateKey(createPrivateKey(readFileSync(keyFile))));
});

test('without space for the self-signed certificate the kubelet runs, says so, leaves no half file, and serves once there is space', async (t) => {
  const { prepared, running, start, untilServed, folder } = await aKubelet(t);
  running.kill('SIGTERM');
  await running.ended;
  const pki = join(folder, 'pki');
  const filler = join(pki, 'filler');
  // Unmounted with the kubelet's folder.
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=16k', 'tmpfs', pki]);
  assert.throws(() => writeFileSync(filler, Buffer.alloc(64 * 1024)), { code: 'ENOSPC' });
  const again = start();
  const failed = /^E.*"failed to create a serving certificate; retrying" .*ENOSPC/m;
  await waitUntil('the failure is logged', () => failed.test(again.stderr), 60_000);
  await waitUntilHealthy(prepared);
  // An attempt may be under way.
  await waitUntil('no half file is left', () => readdirSync(pki).length === 1);
  rmSync(filler);
  await untilServed();
  const [cert, key] = ['kubelet.crt', 'kubelet.key'].map((name) => readFileSync(join(pki, name)));
  assert.ok(new X509Certificate(cert!).checkPrivateKey(createPrivateKey(key!)));
  again.kill('SIGTERM');
  assert.equal((await again.ended).code, 0);
});
