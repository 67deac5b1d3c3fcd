/** A node joins a cluster with a bootstrap token: its client certificate is requested, issued and stored as the Go kubelet does it. */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parse, stringify } from 'yaml';
import type { ControlPlane } from '../../../lab/control-plane/control-plane.ts';
import { CertificateAuthority } from '../../../lab/control-plane/control-plane-certificates.ts';
import {
  allowJoining,
  bootstrapKubeconfig,
  prepareJoiningNode,
  requestsOf,
  untilReady,
  type SigningRequest,
} from '../../support/cluster/bootstrap.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { TestAuthority } from '../../support/api-server/certificates.ts';
import { runningOf } from '../../support/kubelet/observed-node-state.ts';
import { aManifest } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { goKubeconfigTail } from '../../support/certificates/go-values.ts';
import { privateCluster, type TestCluster } from '../../support/cluster/control-plane.ts';

/** An address in the certificate of the API server that is not its own (TEST-NET-1). */
const otherAddress = '192.0.2.7';
let cluster: TestCluster<ControlPlane>;

/** The API server has a certificate of an intermediate authority below that of the cluster. */
function issueByIntermediate(folder: string): void {
  const pki = join(folder, 'pki');
  const intermediate = new CertificateAuthority(join(pki, 'intermediate'), 'intermediate', new CertificateAuthority(pki, 'kubernetes'));
  const names = { dnsNames: ['localhost', 'kubernetes.default.svc'], ips: ['127.0.0.1', otherAddress] };
  const { certFile, keyFile } = intermediate.issue('kube-apiserver', { commonName: 'kube-apiserver', usages: ['serverAuth'], ...names });
  copyFileSync(keyFile, join(pki, 'kube-apiserver.key'));
  writeFileSync(join(pki, 'kube-apiserver.crt'), readFileSync(certFile, 'utf8') + readFileSync(intermediate.certFile, 'utf8'));
}
const hooks = new Cleanups();
/** Rewrites a kubeconfig: its only authority is the intermediate one, and it expects the server at another address. */
function trustIntermediateOnly(file: string): void {
  const kubeconfig = parse(readFileSync(file, 'utf8'));
  const authority = readFileSync(join(cluster.controlPlane.folder, 'pki/intermediate/ca.crt')).toString('base64');
  Object.assign(kubeconfig.clusters[0].cluster, { 'certificate-authority-data': authority, 'tls-server-name': otherAddress });
  writeFileSync(file, stringify(kubeconfig));
}

before(async () => {
  cluster = await privateCluster(hooks, { scheduler: false, prepareFolder: issueByIntermediate });
  await allowJoining(cluster);
});
after(() => hooks.run());

describe('TLS bootstrap', { concurrency: 2 }, () => {
  for (const rotateCertificates of [true, false]) {
    test(`a node joins with a bootstrap token, rotateCertificates: ${rotateCertificates}`, async (t) => {
      const bootstrap = await bootstrapKubeconfig(cluster);
      // One of the two nodes trusts the intermediate authority only, and expects another address.
      if (rotateCertificates) trustIntermediateOnly(bootstrap);
      const nodeName = `joins-${rotateCertificates ? 'rotating' : 'once'}`;
      const joining = await prepareJoiningNode(t, cluster, nodeName, { bootstrap, config: { rotateCertificates } });
      const { node, certDir, kubeconfig } = joining;
      await node.startKubelet();
      await untilReady(cluster, joining);

      // The files, as the Go kubelet leaves them. The kubeconfig is the last one without rotation, the key the last one with it.
      await waitUntil('the files are written', () => existsSync(kubeconfig) && !existsSync(join(certDir, 'kubelet-client.key.tmp')));
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
      assert.deepEqual(written.clusters[0].cluster, parse(readFileSync(bootstrap, 'utf8')).clusters[0].cluster);
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

  async function untilRequested(nodeName: string, count = 1): Promise<SigningRequest> {
    return waitUntil(
      `${nodeName} has requested ${count} certificates`,
      async () => {
        const requests = await requestsOf(cluster, nodeName);
        return requests.length >= count ? requests.at(-1) : undefined;
      },
      60_000,
    );
  }

  test('a kubelet that is killed while it waits for its certificate takes up the same request', async (t) => {
    const bootstrap = await bootstrapKubeconfig(cluster, 'manual');
    const nodeName = 'killed-waiting';
    const joining = await prepareJoiningNode(t, cluster, nodeName, { bootstrap, config: { rotateCertificates: true } });
    const { node, certDir } = joining;
    node.apply(aManifest('static'));
    await node.startKubelet();
    const { metadata } = await untilRequested(nodeName);
    // Static pods do not wait for the certificate.
    await waitUntil('the static pod runs', async () => (await runningOf(node)).length === 1, 60_000);
    const keyFile = join(certDir, 'kubelet-client.key.tmp');
    const key = readFileSync(keyFile, 'utf8');
    assert.equal(statSync(keyFile).mode & 0o777, 0o600);

    await node.stopKubelet('SIGKILL');
    await node.startKubelet();
    await waitUntil('the request is taken up', () => node.log().includes('csr for this node already exists, reusing'), 60_000);
    assert.equal(readFileSync(keyFile, 'utf8'), key);
    await cluster.kubectl('certificate', 'approve', metadata.name);
    await untilReady(cluster, joining);
    assert.equal((await requestsOf(cluster, nodeName)).length, 1);
    // It is stored while it is in use already.
    await waitUntil('the key is that of the certificate', () => !existsSync(keyFile));
    assert.ok(readFileSync(join(certDir, 'kubelet-client-current.pem'), 'utf8').endsWith(key));
  });

  test('a denied request is an error in the log, and another one follows', async (t) => {
    const bootstrap = await bootstrapKubeconfig(cluster, 'manual');
    const nodeName = 'denied';
    const joining = await prepareJoiningNode(t, cluster, nodeName, { bootstrap, config: { rotateCertificates: true } });
    const { node } = joining;
    await node.startKubelet();
    const first = await untilRequested(nodeName);
    await cluster.kubectl('certificate', 'deny', first.metadata.name);
    const second = await untilRequested(nodeName, 2);
    assert.notEqual(second.metadata.name, first.metadata.name);
    assert.match(node.log(), /certificate signing request is denied, reason: KubectlDeny/);
    assert.equal((await node.healthz()).status, 200);
    await cluster.kubectl('certificate', 'approve', second.metadata.name);
    await untilReady(cluster, joining);
  });

  test('an expired certificate at the start is replaced with the bootstrap token', async (t) => {
    const bootstrap = await bootstrapKubeconfig(cluster);
    const nodeName = 'expired';
    const joining = await prepareJoiningNode(t, cluster, nodeName, { bootstrap, config: { rotateCertificates: true } });
    const { node, certDir } = joining;
    await node.startKubelet();
    await untilReady(cluster, joining);
    await node.stopKubelet();
    await cluster.api.delete(`/api/v1/nodes/${nodeName}`);

    const current = join(certDir, 'kubelet-client-current.pem');
    const expired = new TestAuthority('ca').issue({
      commonName: `system:node:${nodeName}`,
      organizations: ['system:nodes'],
      validFromMs: Date.now() - 7_200_000,
      validToMs: Date.now() - 3_600_000,
    });
    writeFileSync(realpathSync(current), expired.cert + expired.key);
    await node.startKubelet();
    await untilReady(cluster, joining);
    assert.match(node.log(), /part of the client certificate is expired/);
    await waitUntil('the certificate is stored', () => new X509Certificate(readFileSync(current)).validToDate > new Date());
    const requests = await requestsOf(cluster, nodeName);
    assert.deepEqual(
      requests.map(({ spec }) => spec.username.startsWith('system:bootstrap:')),
      [true, true],
    );
  });

  test('the certificate that a Go kubelet has left is used, without a request', async (t) => {
    const nodeName = 'taken-over';
    const bootstrap = join(cluster.controlPlane.folder, 'gone.kubeconfig');
    const joining = await prepareJoiningNode(t, cluster, nodeName, { bootstrap, config: { rotateCertificates: true } });
    const { node, certDir, kubeconfig } = joining;
    const { certFile, keyFile } = cluster.controlPlane.clientCertificate(`system:node:${nodeName}`, ['system:nodes']);
    const file = join(certDir, 'kubelet-client-2026-01-02-03-04-05.pem');
    const current = join(certDir, 'kubelet-client-current.pem');
    mkdirSync(certDir, { recursive: true });
    // Go writes the key as EC PRIVATE KEY.
    writeFileSync(file, readFileSync(certFile, 'utf8') + execFileSync('openssl', ['ec', '-in', keyFile], { stdio: 'pipe' }).toString(), {
      mode: 0o600,
    });
    symlinkSync(file, current);
    const cluster64 = readFileSync(cluster.controlPlane.caFile).toString('base64');
    writeFileSync(
      kubeconfig,
      `apiVersion: v1
clusters:
- cluster:
    certificate-authority-data: ${cluster64}
    server: ${cluster.controlPlane.url}
${goKubeconfigTail(current)}`,
      { mode: 0o600 },
    );
    await node.startKubelet();
    await untilReady(cluster, joining);
    assert.deepEqual(await requestsOf(cluster, nodeName), []);
    assert.equal(readlinkSync(current), file);
  });

  test('with a read-only certificate folder a node joins nevertheless, and says what is lost', async (t) => {
    const bootstrap = await bootstrapKubeconfig(cluster);
    const nodeName = 'read-only';
    const joining = await prepareJoiningNode(t, cluster, nodeName, { bootstrap, config: { rotateCertificates: true } });
    const { node, certDir } = joining;
    mkdirSync(certDir, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'ro', 'tmpfs', certDir]);
    t.after(() => execFileSync('umount', [certDir]));
    await node.startKubelet();
    await untilReady(cluster, joining);
    assert.match(node.log(), /Unable to store the new cert\/key pair/);
    execFileSync('mount', ['-o', 'remount,rw', certDir]);
    await waitUntil('the certificate is stored', () => readdirSync(certDir).includes('kubelet-client-current.pem'), 60_000);
    assert.equal((await requestsOf(cluster, nodeName)).length, 1);
  });
});
