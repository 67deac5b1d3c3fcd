/** An API server that hangs and issues unusable certificates, over real connections: nothing of that is used, and the right certificate is, once there is one. */
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { stringify } from 'yaml';
import { ClientCredentials } from '../../../src/main/certificates/index.ts';
import type { SigningRequest } from '../../../src/main/certificates/request/signing-request.ts';
import { systemClock, type Clock } from '../../../src/shared/time/clock.ts';
import { connectTo } from '../../support/api-server/api-connection.ts';
import { TestAuthority } from '../../support/api-server/certificates.ts';
import { ScriptedApiServer } from '../../support/api-server/scripted-api-server.ts';
import { publicKeyOf, requestsPath } from '../../support/certificates/scripted-signer.ts';
import { until } from '../../support/certificates/until.ts';
import { aLogger } from '../../support/logger.ts';

/** The back-offs of the certificates, twenty times as fast. */
const fastClock: Clock = {
  ...systemClock,
  after: (ms, callback) => systemClock.after(ms / 20, callback),
  sleep: (ms, signal) => systemClock.sleep(ms / 20, signal),
};
const node = { commonName: 'system:node:node-a', organizations: ['system:nodes'] };

test('of an API server that hangs and issues broken certificates only the right certificate is used', async (t) => {
  const server = await ScriptedApiServer.start();
  const folder = mkdtempSync(join(tmpdir(), 'hostile-'));
  t.after(async () => {
    await server.close();
    rmSync(folder, { recursive: true });
  });
  const authority = new TestAuthority('ca');
  const issue: ((request: SigningRequest) => string)[] = [
    () => 'x'.repeat(2 ** 20),
    () => '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
    () => authority.issue(node).cert,
    (request) => authority.certify(publicKeyOf(request), { ...node, commonName: 'system:node:node-b' }),
    (request) => authority.certify(publicKeyOf(request), node),
  ];
  const created: SigningRequest[] = [];
  let hangs = 1;
  server.handle = ({ method, url, body }, response) => {
    const send = (content: object) => void response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(content));
    if (method === 'POST' && url === requestsPath) {
      if (hangs-- > 0) return;
      const request = JSON.parse(body) as SigningRequest;
      created.push({ ...request, metadata: { ...request.metadata, uid: `uid-${created.length}` } });
      send(created.at(-1)!);
      return;
    }
    if (!url.startsWith(requestsPath)) {
      send({});
      return;
    }
    const request = created.at(-1)!;
    const certificate = Buffer.from(issue[created.length - 1]!(request)).toString('base64');
    const status = { conditions: [{ type: 'Approved' }], certificate };
    send({ metadata: { resourceVersion: '1' }, items: [{ ...request, status }] });
  };
  const bootstrap = join(folder, 'bootstrap.conf');
  const ca = readFileSync(server.authority.certFile).toString('base64');
  writeFileSync(
    bootstrap,
    stringify({
      clusters: [{ name: 'c', cluster: { server: server.url, 'certificate-authority-data': ca } }],
      users: [{ name: 'u', user: { token: 'abcdef.0123456789abcdef' } }],
      contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
      'current-context': 'x',
    }),
  );
  const { logger, lines } = aLogger();
  const credentials = (await ClientCredentials.prepare({
    kubeconfigPath: join(folder, 'kubelet.conf'),
    bootstrapPath: bootstrap,
    certDirectory: join(folder, 'pki'),
    nodeName: 'node-a',
    rotates: true,
    connect: (path) => connectTo(path, { nodeStatusUpdateFrequencyMs: 300 }),
    clock: fastClock,
    logger,
  }))!;
  const connection = await connectTo('', { managed: credentials });
  t.after(async () => {
    await credentials.close();
    await connection.close();
  });
  const getNode = () => connection.client.call({ method: 'GET', path: '/api/v1/nodes/node-a', trafficClass: 'node' });
  await assert.rejects(getNode(), { reason: 'Unauthorized', message: /has not issued a client certificate yet/ });
  credentials.start(connection);

  const files = () => (existsSync(join(folder, 'pki')) ? readdirSync(join(folder, 'pki')) : []);
  await until(
    'the certificate is stored',
    () => files().includes('kubelet-client-current.pem') && !files().includes('kubelet-client.key.tmp'),
  );
  await getNode();
  assert.equal(server.requests.at(-1)!.client, 'system:node:node-a');
  assert.equal(server.requests.at(-1)!.headers['authorization'], undefined);
  const errors = lines.flatMap(({ err }) => (typeof err === 'string' ? [err] : []));
  const expected = [
    /got no answer within 0.3 s/,
    /the issued certificate is larger than/,
    /invalid certificate data/,
    /private key does not match public key/,
    /lacks the common name/,
  ];
  assert.equal(errors.length, expected.length, errors.join('\n'));
  for (const [index, pattern] of expected.entries()) assert.match(errors[index]!, pattern);
  // Each unusable certificate costs a key and a request, nothing else is left.
  assert.equal(new Set(created.map(({ metadata }) => metadata.name)).size, 5);
  assert.equal(files().length, 2);
  assert.ok(server.requests.every(({ url, client }) => url.startsWith(requestsPath) || client === 'system:node:node-a'));
});
