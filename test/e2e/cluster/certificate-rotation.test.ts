/**
 * The certificates of a node are renewed by the cluster before they end. The signer's certificates live for 30 s: dated back by five minutes, as the
 * controller manager does, they are renewed after 21 to 27 s.
 */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { connect } from 'node:tls';
import { once } from 'node:events';
import type { ControlPlane } from '../../../lab/control-plane/control-plane.ts';
import {
  allowJoining,
  bootstrapKubeconfig,
  prepareJoiningNode,
  requestsOf,
  untilReady,
  type JoiningNode,
  type SigningRequest,
} from '../../support/cluster/bootstrap.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { privateCluster, type TestCluster } from '../../support/cluster/control-plane.ts';
import { runningOf } from '../../support/kubelet/observed-node-state.ts';
import { aManifest } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

let cluster: TestCluster<ControlPlane>;
const hooks = new Cleanups();
before(async () => {
  cluster = await privateCluster(hooks, { scheduler: false, controllerManagerFlags: ['--cluster-signing-duration=30s'] });
  await allowJoining(cluster);
});
after(() => hooks.run());

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

describe('while the API server runs', { concurrency: 2 }, () => {
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
    const metrics = await cluster.api.text(`/api/v1/nodes/${nodeName}/proxy/metrics`);
    const valueOf = (name: string) => Number(new RegExp(`^${name} (.*)$`, 'm').exec(metrics)?.[1]);
    const seconds = valueOf('kubelet_certificate_manager_client_ttl_seconds');
    assert.ok(seconds > 0 && seconds <= 30, `${seconds} s remain`);
    assert.equal(valueOf('kubelet_certificate_manager_client_expiration_renew_errors'), 0);
    assert.ok(valueOf('rest_client_transport_cert_rotation_gc_calls_total') >= 2);
  });

  test('the serving certificate is for the addresses of the node, and replaced without a restart', async (t) => {
    const bootstrap = await bootstrapKubeconfig(cluster);
    const nodeName = 'serves';
    const joining = await prepareJoiningNode(t, cluster, nodeName, {
      bootstrap,
      config: { rotateCertificates: true, serverTLSBootstrap: true, tlsCertFile: '', tlsPrivateKeyFile: '' },
      // The addresses are those that a cloud's controller, here the test, writes into the Node.
      flags: ['--cloud-provider', 'external'],
    });
    const { node, port, certDir } = joining;
    const pid = () => node.kubeletPid;
    await node.startKubelet();
    await untilReady(cluster, joining);
    const firstPid = pid();
    const setAddresses = (...ips: string[]) =>
      cluster.api.patch(`/api/v1/nodes/${nodeName}/status`, {
        status: { addresses: [{ type: 'Hostname', address: nodeName }, ...ips.map((address) => ({ type: 'InternalIP', address }))] },
      });
    const requested = async () =>
      (await requestsOf(cluster, nodeName)).filter(({ spec }) => spec.signerName === 'kubernetes.io/kubelet-serving');
    const known = new Set<string>();
    const approveNext = async (): Promise<SigningRequest> => {
      const request = await waitUntil(
        'a serving certificate is requested',
        async () => (await requested()).find(({ metadata }) => !known.has(metadata.name)),
        60_000,
      );
      known.add(request.metadata.name);
      return request;
    };
    const untilServed = (what: string, condition: (certificate: X509Certificate) => boolean) =>
      waitUntil(
        what,
        async () => {
          const certificate = await servedCertificate(port);
          return certificate && condition(certificate) ? certificate : undefined;
        },
        60_000,
      );

    await setAddresses('127.0.0.1');
    const first = await approveNext();
    assert.deepEqual(first.spec.usages, ['digital signature', 'server auth']);
    assert.equal(first.spec.username, `system:node:${nodeName}`);
    assert.equal(await servedCertificate(port), undefined, 'without a certificate there is no handshake');
    await cluster.kubectl('certificate', 'approve', first.metadata.name);
    const served = await untilServed('the certificate is served', () => true);
    assert.equal(served.subject, `O=system:nodes\nCN=system:node:${nodeName}`);
    assert.equal(served.checkHost(nodeName), nodeName);
    assert.equal(served.checkIP('127.0.0.1'), '127.0.0.1');
    // It is stored while it is in use already.
    await waitUntil('it is stored', () => existsSync(join(certDir, 'kubelet-server-current.pem')));
    assert.match(realpathSync(join(certDir, 'kubelet-server-current.pem')), /kubelet-server-\d{4}(-\d\d){5}\.pem$/);

    await setAddresses('127.0.0.1', '192.0.2.7');
    const changed = await approveNext();
    await cluster.kubectl('certificate', 'approve', changed.metadata.name);
    const both = await untilServed('the certificate has the new address', (certificate) => certificate.checkIP('192.0.2.7') !== undefined);

    const renewal = await approveNext();
    await cluster.kubectl('certificate', 'approve', renewal.metadata.name);
    await untilServed('the renewed certificate is served', ({ serialNumber }) => serialNumber !== both.serialNumber);
    assert.equal(pid(), firstPid);
    // After a restart the stored certificate is served at once.
    await node.stopKubelet();
    const stored = currentCertificate(joining, 'kubelet-server')!;
    await node.startKubelet();
    await untilServed('the stored certificate is served', ({ serialNumber }) => serialNumber === stored.serialNumber);
  });
});

test('an API server that is away for longer than the certificate lives costs nothing', async (t) => {
  const bootstrap = await bootstrapKubeconfig(cluster);
  const nodeName = 'outlived';
  const joining = await prepareJoiningNode(t, cluster, nodeName, { bootstrap, config: { rotateCertificates: true } });
  const { node } = joining;
  await node.startKubelet();
  await untilReady(cluster, joining);
  const namespace = await cluster.namespace(t);
  const untilRunning = (name: string) =>
    waitUntil(
      `${name} runs`,
      async () =>
        (await cluster.api.find<{ status?: { phase?: string } }>(`/api/v1/namespaces/${namespace}/pods/${name}`))?.status?.phase ===
        'Running',
      90_000,
    );
  await cluster.api.create(`/api/v1/namespaces/${namespace}/pods`, aManifest('kept', { nodeName }));
  await untilRunning('kept');
  const containers = await runningOf(node);

  await cluster.controlPlane.stopApiServer(0);
  const last = await waitUntil(
    'the certificate has expired',
    () => {
      const current = currentCertificate(joining);
      return current && current.validToDate < new Date() ? current : undefined;
    },
    60_000,
  );
  assert.equal((await node.healthz()).status, 200);
  assert.deepEqual(await runningOf(node), containers);

  await cluster.controlPlane.startApiServer();
  await untilRenewed(joining, last);
  await cluster.api.create(`/api/v1/namespaces/${namespace}/pods`, aManifest('after', { nodeName }));
  await untilRunning('after');
  assert.ok((await runningOf(node)).includes(containers[0]!));
  const usernames = (await requestsOf(cluster, nodeName)).map(({ spec }) => spec.username);
  assert.ok(usernames.filter((name) => name.startsWith('system:bootstrap:')).length >= 2, usernames.join());
});
