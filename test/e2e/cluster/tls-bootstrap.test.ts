/** A node joins a cluster with a bootstrap token: its client certificate is requested, issued and stored as the Go kubelet does it. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { parse } from 'yaml';
import type { ControlPlane } from '../../../scripts/host/control-plane.ts';
import { allowJoining, bootstrapKubeconfig, prepareJoiningNode, requestsOf, untilReady } from '../../support/cluster/bootstrap.ts';
import { privateCluster, type TestCluster } from '../../support/cluster/control-plane.ts';

let cluster: TestCluster<ControlPlane>;
const ends: (() => Promise<unknown> | void)[] = [];
before(async () => {
  cluster = await privateCluster({ after: (end) => void ends.push(end) }, { scheduler: false });
  await allowJoining(cluster);
});
after(async () => {
  for (const end of ends.toReversed()) await end();
});

for (const rotateCertificates of [true, false]) {
  test(`a node joins with a bootstrap token, rotateCertificates: ${rotateCertificates}`, async (t) => {
    const bootstrap = await bootstrapKubeconfig(cluster);
    const nodeName = `joins-${rotateCertificates ? 'rotating' : 'once'}`;
    const joining = await prepareJoiningNode(t, cluster, nodeName, { bootstrap, config: { rotateCertificates } });
    const { node, certDir, kubeconfig } = joining;
    await node.startKubelet();
    await untilReady(cluster, joining);

    // The files, as the Go kubelet leaves them.
    const current = join(certDir, 'kubelet-client-current.pem');
    assert.ok(lstatSync(current).isSymbolicLink());
    assert.match(readlinkSync(current), new RegExp(`^${certDir}/kubelet-client-\\d{4}(-\\d\\d){5}\\.pem$`));
    assert.deepEqual(
      readdirSync(certDir).filter((name) => /tmp|updated|new/.test(name)),
      [],
    );
    assert.equal(statSync(current).mode & 0o777, 0o600);
    assert.equal(statSync(kubeconfig).mode & 0o777, 0o600);
    const pem = readFileSync(current, 'utf8');
    assert.match(pem, /^-----BEGIN CERTIFICATE-----[^]+-----BEGIN EC PRIVATE KEY-----/);
    assert.equal(new X509Certificate(pem).subject, `O=system:nodes\nCN=system:node:${nodeName}`);
    const written = parse(readFileSync(kubeconfig, 'utf8'));
    assert.deepEqual(written.users, [{ name: 'default-auth', user: { 'client-certificate': current, 'client-key': current } }]);

    // The request, as upstream makes it.
    const requests = await requestsOf(cluster, nodeName);
    assert.deepEqual(
      requests.map(({ spec }) => [spec.signerName, spec.usages]),
      [['kubernetes.io/kube-apiserver-client-kubelet', ['digital signature', 'client auth']]],
    );
    assert.match(requests[0]!.metadata.name, /^node-csr-[\w-]{43}$/);
    assert.match(requests[0]!.spec.username, /^system:bootstrap:/);

    // client-go reads these files.
    const { stdout } = await cluster.runKubectl(['auth', 'whoami', '-o', 'json'], { kubeconfig });
    assert.equal(JSON.parse(stdout).status.userInfo.username, `system:node:${nodeName}`);

    // The next start needs no bootstrap.
    await node.stopKubelet();
    await node.startKubelet();
    await untilReady(cluster, joining);
    assert.equal((await requestsOf(cluster, nodeName)).length, 1);
    assert.doesNotMatch(node.log(), /PRIVATE KEY/);
  });
}
