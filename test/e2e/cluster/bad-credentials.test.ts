/**
 * Credentials that are of no use, and a `--cert-dir` that can't be written: the log names the cause, pods that run are untouched, and the node
 * continues once the cause is gone. The signer's certificates live for 30 s.
 */
import assert from 'node:assert/strict';
import { X509Certificate } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readdirSync, readFileSync, readlinkSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import type { ControlPlane } from '../../../lab/control-plane/control-plane.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { TestAuthority } from '../../support/api-server/certificates.ts';
import {
  allowJoining,
  bootstrapKubeconfig,
  prepareJoiningNode,
  requestsOf,
  untilReady,
  type JoiningNode,
} from '../../support/cluster/bootstrap.ts';
import { privateCluster, type TestCluster } from '../../support/cluster/control-plane.ts';
import { runningOf } from '../../support/kubelet/observed-node-state.ts';
import { aManifest, TestNode } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const timeoutMs = 90_000;
let cluster: TestCluster<ControlPlane>;
const hooks = new Cleanups();
before(async () => {
  cluster = await privateCluster(hooks, { scheduler: false, controllerManagerFlags: ['--cluster-signing-duration=30s'] });
  await allowJoining(cluster);
});
after(() => hooks.run());

/** Runs a static pod and one of the API server. Returns the function that asserts that both still have the same containers. */
async function runPods(t: TestContext, joining: Pick<JoiningNode, 'node' | 'nodeName'>): Promise<() => Promise<void>> {
  const { node, nodeName } = joining;
  const namespace = await cluster.namespace(t);
  node.apply(aManifest('static'));
  await cluster.api.create(`/api/v1/namespaces/${namespace}/pods`, aManifest('kept', { nodeName }));
  await waitUntil('both pods run', async () => (await runningOf(node)).length === 2, timeoutMs);
  const containers = (await runningOf(node)).toSorted();
  return async () => assert.deepEqual((await runningOf(node)).toSorted(), containers);
}

describe('credentials of no use', { concurrency: 2 }, () => {
  for (const { kind, error } of [
    { kind: 'expired', error: /Unauthorized/ },
    { kind: 'powerless', error: /User \\?"system:bootstrap:\w+\\?" cannot create resource \\?"certificatesigningrequests\\?"/ },
  ] as const) {
    test(`a bootstrap token that is ${kind} is an error that names its kubeconfig, and a new token needs no restart`, async (t) => {
      const bootstrap = await bootstrapKubeconfig(cluster, kind);
      const joining = await prepareJoiningNode(t, cluster, `token-${kind}`, { bootstrap, config: { rotateCertificates: true } });
      const { node, nodeName } = joining;
      node.apply(aManifest('static'));
      await node.startKubelet();
      const failures = () => node.log().match(/^E.*"Failed to get a certificate from the cluster".*$/gm) ?? [];
      const line = await waitUntil('the failure is logged', () => failures().find((each) => error.test(each)), timeoutMs);
      assert.ok(line.includes(`credentials="${bootstrap}"`), line);
      await waitUntil('the static pod runs', async () => (await runningOf(node)).length === 1, timeoutMs);
      const containers = await runningOf(node);
      assert.equal((await node.healthz()).status, 200);
      assert.deepEqual(await requestsOf(cluster, nodeName), []);

      copyFileSync(await bootstrapKubeconfig(cluster), bootstrap);
      await untilReady(cluster, joining);
      assert.deepEqual(await runningOf(node), containers);
    });
  }

  test('while nobody approves the request of a node whose certificate has expired, its pods run on, and the log says what it waits for', async (t) => {
    const bootstrap = await bootstrapKubeconfig(cluster);
    const joining = await prepareJoiningNode(t, cluster, 'unapproved', { bootstrap, config: { rotateCertificates: true } });
    const { node, nodeName, certDir } = joining;
    await node.startKubelet();
    await untilReady(cluster, joining);
    const assertUntouched = await runPods(t, joining);
    await node.stopKubelet();

    const expired = new TestAuthority('ca').issue({
      commonName: `system:node:${nodeName}`,
      organizations: ['system:nodes'],
      validFromMs: Date.now() - 7_200_000,
      validToMs: Date.now() - 3_600_000,
    });
    writeFileSync(realpathSync(join(certDir, 'kubelet-client-current.pem')), expired.cert + expired.key);
    copyFileSync(await bootstrapKubeconfig(cluster, 'manual'), bootstrap);
    const known = (await requestsOf(cluster, nodeName)).map(({ metadata }) => metadata.name);
    await node.startKubelet();
    const pending = await waitUntil(
      'another certificate is requested',
      async () => (await requestsOf(cluster, nodeName)).find(({ metadata }) => !known.includes(metadata.name)),
      timeoutMs,
    );
    const { name } = pending.metadata;
    await waitUntil('the log names the request', () => node.log().includes(`"Waiting for the certificate to be issued" csr="${name}"`));
    await waitUntil('a warning follows', () => new RegExp(`^W.*not been approved.*csr="${name}"`, 'm').test(node.log()), timeoutMs);
    await assertUntouched();
    assert.equal((await node.healthz()).status, 200);

    await cluster.kubectl('certificate', 'approve', name);
    await waitUntil('it is issued', () => node.log().includes(`"Certificate signing request is issued" csr="${name}"`), timeoutMs);
    await untilReady(cluster, joining);
    await assertUntouched();
  });

  /** What prevents the storing of a certificate. The folder is a tmpfs of 64 KiB. */
  const obstacles = [
    {
      name: 'full',
      nodeName: 'full-disk',
      error: /ENOSPC/,
      obstruct: (certDir: string) =>
        assert.throws(() => writeFileSync(join(certDir, 'filler'), Buffer.alloc(1024 * 1024)), { code: 'ENOSPC' }),
      clear: (certDir: string) => rmSync(join(certDir, 'filler')),
    },
    {
      name: 'read-only',
      nodeName: 'read-only-disk',
      error: /EROFS/,
      obstruct: (certDir: string) => execFileSync('mount', ['-o', 'remount,ro', certDir]),
      clear: (certDir: string) => execFileSync('mount', ['-o', 'remount,rw', certDir]),
    },
  ];
  for (const { name, nodeName, error, obstruct, clear } of obstacles) {
    test(`certificates that can not be stored in a ${name} folder are in use, and the old files stay whole, also for the next start`, async (t) => {
      const bootstrap = await bootstrapKubeconfig(cluster);
      const joining = await prepareJoiningNode(t, cluster, nodeName, { bootstrap, config: { rotateCertificates: true } });
      const { node, certDir } = joining;
      mkdirSync(certDir, { recursive: true });
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', certDir]);
      t.after(() => execFileSync('umount', ['-l', certDir]));
      await node.startKubelet();
      await untilReady(cluster, joining);
      const assertUntouched = await runPods(t, joining);
      const current = join(certDir, 'kubelet-client-current.pem');
      const filesNow = () => ({
        target: readlinkSync(current),
        pem: readFileSync(current, 'utf8'),
        names: readdirSync(certDir).filter((name) => name !== 'filler'),
      });
      const hasNoHalfFile = () => filesNow().names.every((each) => /^kubelet-client-[\d-]+\.pem$|^kubelet-client-current\.pem$/.test(each));
      const isStored = () => readdirSync(certDir).includes('kubelet-client-current.pem') && hasNoHalfFile();
      await waitUntil('the first certificate is stored', isStored, timeoutMs);
      obstruct(certDir);
      const stored = filesNow();
      const { serialNumber, validToDate } = new X509Certificate(stored.pem);
      // An attempt to store may be under way.
      const untilWhole = () => waitUntil('the files are the old ones', () => isDeepStrictEqual(filesNow(), stored));

      const failure = () => /^E.*"Unable to store the new cert\/key pair; it is in use, and lost with a restart".*$/m.exec(node.log())?.[0];
      assert.match(await waitUntil('the failure is logged', failure, timeoutMs), error);
      const renewedAt = async () => {
        const lease = await cluster.api.find<{ spec: { renewTime: string } }>(
          `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`,
        );
        return new Date(lease?.spec.renewTime ?? 0);
      };
      await waitUntil('the lease is renewed with the next certificate', async () => (await renewedAt()) > validToDate, timeoutMs);
      await untilWhole();
      await assertUntouched();

      // The stored certificate has ended: the bootstrap token requests the next one.
      await node.stopKubelet();
      const restartedAt = new Date();
      await node.startKubelet();
      await waitUntil('the lease is renewed after the restart', async () => (await renewedAt()) > restartedAt, timeoutMs);
      await assertUntouched();
      await untilWhole();

      clear(certDir);
      await waitUntil('a certificate is stored', () => new X509Certificate(readFileSync(current)).serialNumber !== serialNumber, timeoutMs);
      await waitUntil('no half file is left', hasNoHalfFile);
      await untilReady(cluster, joining);
      await assertUntouched();
    });
  }

  test('a kubeconfig of no use ends the kubelet with the reason, and pods run on; its relative paths are those of its folder', async (t) => {
    const nodeName = 'bad-kubeconfig';
    const member = await cluster.member(t, nodeName);
    const folder = join(cluster.controlPlane.folder, nodeName);
    const pki = join(folder, 'pki');
    mkdirSync(pki, { recursive: true });
    const { certFile, keyFile } = cluster.controlPlane.clientCertificate(`system:node:${nodeName}`, ['system:nodes']);
    const kubeconfig = join(folder, 'kubelet.conf');
    const writeAll = (): void => {
      rmSync(kubeconfig, { recursive: true, force: true });
      copyFileSync(cluster.controlPlane.caFile, join(pki, 'ca.crt'));
      copyFileSync(certFile, join(pki, 'node.crt'));
      copyFileSync(keyFile, join(pki, 'node.key'));
      write();
    };
    const write = (fields: object = {}): void =>
      writeFileSync(
        kubeconfig,
        stringify({
          apiVersion: 'v1',
          kind: 'Config',
          clusters: [{ name: 'c', cluster: { server: cluster.controlPlane.url, 'certificate-authority': 'pki/ca.crt' } }],
          users: [{ name: 'u', user: { 'client-certificate': 'pki/node.crt', 'client-key': './pki/node.key' } }],
          contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
          'current-context': 'x',
          ...fields,
        }),
      );
    // The flag's own path is relative to the working directory.
    const flag = relative(process.cwd(), kubeconfig);
    assert.notEqual(dirname(flag), '.');
    const node = await TestNode.start(t, {
      config: member.config,
      flags: ['--kubeconfig', flag, '--hostname-override', nodeName],
    });
    writeAll();
    await node.startKubelet();
    const joining = { node, nodeName, port: member.port, certDir: pki, kubeconfig };
    await untilReady(cluster, joining);
    const assertUntouched = await runPods(t, joining);
    await node.stopKubelet();

    const other = new TestAuthority('other').issue({ commonName: 'system:node:other', organizations: ['system:nodes'] });
    const useless: { name: string; make: () => void; error: RegExp }[] = [
      { name: 'no file', make: () => rmSync(kubeconfig), error: /ENOENT/ },
      { name: 'a folder', make: () => (rmSync(kubeconfig), mkdirSync(kubeconfig)), error: /EISDIR|not a regular file/ },
      { name: 'an empty file', make: () => writeFileSync(kubeconfig, ''), error: /current-context/ },
      { name: 'half a file', make: () => writeFileSync(kubeconfig, readFileSync(kubeconfig).subarray(0, 100)), error: /line \d/ },
      { name: 'binary junk', make: () => writeFileSync(kubeconfig, Buffer.from([0, 159, 146, 150, 1, 2, 255])), error: /line 1/ },
      { name: 'no current context', make: () => write({ 'current-context': '' }), error: /current-context is missing/ },
      {
        name: 'a context that is not there',
        make: () => write({ 'current-context': 'nowhere' }),
        error: /contexts has none with the name \\*"nowhere\\*"/,
      },
      { name: 'no certificate', make: () => rmSync(join(pki, 'node.crt')), error: /client certificate: .*node\.crt/ },
      { name: 'no key', make: () => rmSync(join(pki, 'node.key')), error: /client certificate: .*node\.key/ },
      { name: 'an empty certificate', make: () => writeFileSync(join(pki, 'node.crt'), ''), error: /client certificate: .*node\.crt/ },
      { name: 'a corrupt certificate', make: () => writeFileSync(join(pki, 'node.crt'), 'x'), error: /client certificate: .*node\.crt/ },
      { name: 'another key', make: () => writeFileSync(join(pki, 'node.key'), other.key), error: /client certificate: .*node\.key/ },
      { name: 'no authority', make: () => rmSync(join(pki, 'ca.crt')), error: /ca\.crt/ },
      { name: 'an empty authority', make: () => writeFileSync(join(pki, 'ca.crt'), ''), error: /ca\.crt/ },
    ];
    for (const { name, make, error } of useless) {
      writeAll();
      make();
      await assert.rejects(node.startKubelet(), ({ message }: Error) => {
        assert.match(message, /the kubelet ended with 1: /, name);
        const last = message.trim().split('\n').at(-1) ?? '';
        assert.ok(last.includes(flag), `${name}: ${last}`);
        assert.match(last, error, name);
        return true;
      });
      await assertUntouched();
    }

    writeAll();
    await node.startKubelet();
    await untilReady(cluster, joining);
    await assertUntouched();
  });
});
