/**
 * The certificates of a node are renewed by the cluster before they end. The signer's certificates live for 30 s: dated back by five minutes, as the
 * controller manager does, they are renewed after 21 to 27 s.
 */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { connect } from 'node:tls';
import { once } from 'node:events';
import type { ControlPlane } from '../../../scripts/host/control-plane.ts';
import {
  allowJoining,
  bootstrapKubeconfig,
  prepareJoiningNode,
  requestsOf,
  untilReady,
  type JoiningNode,
  type SigningRequest,
} from '../../support/cluster/bootstrap.ts';
import { privateCluster, type TestCluster } from '../../support/cluster/control-plane.ts';
import { aManifest } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

let cluster: TestCluster<ControlPlane>;
const ends: (() => Promise<unknown> | void)[] = [];
before(async () => {
  cluster = await privateCluster(
    { after: (end) => void ends.push(end) },
    { scheduler: false, controllerManagerFlags: ['--cluster-signing-duration=30s'] },
  );
  await allowJoining(cluster);
});
after(async () => {
  for (const end of ends.toReversed()) await end();
});

function currentCertificate({ certDir }: JoiningNode, prefix = 'kubelet-client'): X509Certificate | undefined {
  try {
    return new X509Certificate(readFileSync(join(certDir, `${prefix}-current.pem`)));
  } catch {
    return undefined;
  }
}

function untilRenewed(joining: JoiningNode, previous: X509Certificate): Promise<X509Certificate> {
  return waitUntil(
    'the client certificate is renewed',
    () => {
      const current = currentCertificate(joining);
      return current && current.serialNumber !== previous.serialNumber ? current : undefined;
    },
    60_000,
  );
}

async function servedCertificate(port: number): Promise<X509Certificate | undefined> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false });
  try {
    await once(socket, 'secureConnect', { signal: AbortSignal.timeout(5000) });
    return socket.getPeerX509Certificate();
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
}

test('the client certificate is renewed before it ends: watches resume, and the node stays ready', async (t) => {
  const bootstrap = await bootstrapKubeconfig(cluster);
  const nodeName = 'renews';
  const joining = await prepareJoiningNode(t, cluster, nodeName, { bootstrap, config: { rotateCertificates: true } });
  const { node, certDir } = joining;
  await node.startKubelet();
  await untilReady(cluster, joining);
  const first = currentCertificate(joining)!;
  const before = cluster.controlPlane.auditEvents(nodeName).length;

  const second = await untilRenewed(joining, first);
  const third = await untilRenewed(joining, second);
  assert.ok(third.validFromDate >= second.validFromDate);
  assert.ok(third.validToDate > new Date());
  const requests = await requestsOf(cluster, nodeName);
  assert.match(requests[0]!.spec.username, /^system:bootstrap:/);
  for (const { spec, metadata } of requests.slice(1)) {
    assert.equal(spec.username, `system:node:${nodeName}`);
    assert.match(metadata.name, /^csr-/);
  }
  // One file for each, and the link.
  assert.equal(readdirSync(certDir).length, requests.length + 1);

  // With the third certificate a pod still arrives, by the watch.
  const namespace = await cluster.namespace(t);
  await cluster.api.create(`/api/v1/namespaces/${namespace}/pods`, aManifest('late', { nodeName }));
  await waitUntil(
    'the pod runs',
    async () =>
      (await cluster.api.get<{ status?: { phase?: string } }>(`/api/v1/namespaces/${namespace}/pods/late`)).status?.phase === 'Running',
    60_000,
  );
  const events = cluster.controlPlane.auditEvents(nodeName).slice(before);
  const lists = events.filter(
    ({ verb, objectRef }) => verb === 'list' && !['certificatesigningrequests', 'configmaps'].includes(objectRef?.resource ?? ''),
  );
  assert.deepEqual(
    lists.map(({ requestURI }) => requestURI),
    [],
    'a watch that resumes lists nothing',
  );
  assert.deepEqual(
    events.filter(({ responseStatus }) => responseStatus?.code === 401),
    [],
  );
});

test('the serving certificate is requested for the addresses of the node, and served once it is approved', async (t) => {
  const bootstrap = await bootstrapKubeconfig(cluster);
  const nodeName = 'serves';
  const joining = await prepareJoiningNode(t, cluster, nodeName, {
    bootstrap,
    config: { rotateCertificates: true, serverTLSBootstrap: true, tlsCertFile: '', tlsPrivateKeyFile: '' },
  });
  const { node, port, certDir } = joining;
  await node.startKubelet();
  await untilReady(cluster, joining);
  const serving = async () =>
    (await requestsOf(cluster, nodeName)).filter(({ spec }) => spec.signerName === 'kubernetes.io/kubelet-serving');
  const pending = await waitUntil('the serving certificate is requested', async () => (await serving())[0], 60_000);
  assert.deepEqual(pending.spec.usages, ['digital signature', 'server auth']);
  assert.equal(pending.spec.username, `system:node:${nodeName}`);
  assert.equal(await servedCertificate(port), undefined, 'without a certificate there is no handshake');

  await approve(pending);
  const served = await waitUntil('the certificate is served', () => servedCertificate(port), 60_000);
  assert.equal(served.subject, `O=system:nodes\nCN=system:node:${nodeName}`);
  assert.equal(served.checkHost(nodeName), nodeName);
  assert.match(realpathSync(join(certDir, 'kubelet-server-current.pem')), /kubelet-server-\d{4}(-\d\d){5}\.pem$/);

  // It is renewed without a restart.
  const answered = new Set([pending.metadata.name]);
  const next = await waitUntil(
    'the next one is requested',
    async () => (await serving()).find(({ metadata }) => !answered.has(metadata.name)),
    60_000,
  );
  await approve(next);
  await waitUntil('the next one is served', async () => {
    const current = await servedCertificate(port);
    return current !== undefined && current.serialNumber !== served.serialNumber;
  });
});

async function approve({ metadata }: SigningRequest): Promise<void> {
  await cluster.kubectl('certificate', 'approve', metadata.name);
}
