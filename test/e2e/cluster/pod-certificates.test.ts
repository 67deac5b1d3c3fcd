/** Pod certificates, with the feature gate enabled in API server and kubelet, and a signer in the cluster. */
import assert from 'node:assert/strict';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { alphaGateFlags } from '../../support/cluster/alpha-gates.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { privateCluster } from '../../support/cluster/control-plane.ts';
import { PodCertificateSigner } from '../../support/cluster/pod-certificate-signer.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

const signerName = 'example.com/internal';
const waitTimeoutMs = 90_000;
const clockJumpMs = 31 * 60_000;
const bundle = { credentialBundlePath: 'bundle.pem' };

describe('pod certificates', () => {
  const hooks = new Cleanups();
  let node: TestClusterNode;
  let signer: PodCertificateSigner;

  before(async () => {
    const cluster = await privateCluster(hooks, { scheduler: false, apiServerFlags: alphaGateFlags });
    const clock = `--import=${join(import.meta.dirname, '../../support/preloads/clock-ahead.mjs')}`;
    node = await TestClusterNode.start('cluster-certs', {
      cluster,
      config: { featureGates: { AtomicWriteVolumeUserFields: true } },
      env: { NODE_OPTIONS: `${process.env['NODE_OPTIONS'] ?? ''} ${clock}`.trim() },
    });
    hooks.after(() => node.destroy());
    signer = PodCertificateSigner.start(node.api);
    hooks.after(() => signer.close());
  });
  after(() => hooks.run());

  const create = (name: string, sources: readonly object[], spec: Partial<PodSpec> = {}) =>
    node.create(name, {
      automountServiceAccountToken: false,
      containers: [aBusybox({ volumeMounts: [{ name: 'id', mountPath: '/id' }] })],
      volumes: [{ name: 'id', projected: { sources: sources.map((source) => ({ podCertificate: { signerName, ...source } })) } }],
      ...spec,
    } as Partial<PodSpec>);
  const read = (name: string, file: string) => node.exec(name, `cat /id/${file}`);
  /** The certificates of a PEM chain. */
  const certificatesOf = (pem: string) =>
    (pem.match(/-----BEGIN CERTIFICATE-----[^]+?-----END CERTIFICATE-----/g) ?? []).map((block) => new X509Certificate(block));
  const isForKey = (pem: string, key: string) => certificatesOf(pem)[0]?.checkPrivateKey(createPrivateKey(key)) === true;
  const containerOf = async (name: string) => (await node.get(name)).status?.containerStatuses?.[0];
  const states = async () => {
    const metrics = await node.api.text(`/api/v1/nodes/${node.nodeName}/proxy/metrics`);
    return metrics.split('\n').filter((line) => line.startsWith('kubelet_podcertificate_states'));
  };

  test('each key type is issued, and written to the configured paths', async () => {
    const keyTypes = ['RSA3072', 'RSA4096', 'ECDSAP256', 'ECDSAP384', 'ECDSAP521', 'ED25519'];
    const sources = keyTypes.map((keyType) => ({ keyType, keyPath: `${keyType}/key.pem`, certificateChainPath: `${keyType}/chain.pem` }));
    await create('types', [
      ...sources,
      { keyType: 'ECDSAP256', ...bundle, user: 1000, maxExpirationSeconds: 7200, userAnnotations: { 'example.com/team': 'a' } },
    ]);
    await node.untilRunning('types');
    for (const keyType of keyTypes) {
      const [key, chain] = await Promise.all([read('types', `${keyType}/key.pem`), read('types', `${keyType}/chain.pem`)]);
      assert.ok(isForKey(chain, key), `the certificate does not match the key ${keyType}`);
      const [leaf, authority] = certificatesOf(chain);
      assert.equal(leaf?.subject, 'CN=types');
      assert.ok(authority && leaf?.verify(authority.publicKey));
    }
    const both = await read('types', 'bundle.pem');
    const owners = await node.exec('types', 'stat -L -c "%u %a" /id/bundle.pem /id/ED25519/key.pem');
    assert.equal(owners, '1000 600\n0 644\n');
    assert.match(both, /^-----BEGIN PRIVATE KEY-----\n[^-]+-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\n/);
    assert.ok(isForKey(both, both));
    assert.doesNotMatch(both, /own/);
    const requests = signer.requestsOf('types');
    assert.equal(requests.length, keyTypes.length + 1);
    assert.deepEqual([...new Set(requests.map(({ spec }) => `${spec.serviceAccountName} ${spec.nodeName}`))], [`default ${node.nodeName}`]);
    const annotated = requests.find(({ spec }) => spec.unverifiedUserAnnotations !== undefined);
    assert.deepEqual(
      [annotated?.spec.maxExpirationSeconds, annotated?.spec.unverifiedUserAnnotations],
      [7200, { 'example.com/team': 'a' }],
    );
    assert.deepEqual(signer.errors, []);
  });

  test('a pod waits for its signer with an event, and runs when the certificate is issued', async () => {
    await signer.decide(() => 'wait');
    await create('waits', [{ keyType: 'ED25519', ...bundle }]);
    await node.untilEvent('waits', 'FailedMount', /credential bundle is not issued yet/);
    assert.ok(
      (await states()).some((line) =>
        line.startsWith(`kubelet_podcertificate_states{signer_name="${signerName}",state="not_yet_issued"} 1`),
      ),
    );
    await signer.decide(() => 'issue');
    await node.untilRunning('waits');
    assert.equal(certificatesOf(await read('waits', 'bundle.pem')).length, 2);
  });

  test('a denied request is final, and its event has the signer’s message', async () => {
    await signer.decide(({ spec }) =>
      spec.podName === 'refused' ? { type: 'Denied', reason: 'UnsupportedKeyType', message: 'use RSA4096' } : 'issue',
    );
    await create('refused', [{ keyType: 'ECDSAP521', ...bundle }]);
    await node.untilEvent(
      'refused',
      'Denied',
      /^PodCertificateRequest test-[^/]+\/req-\S+ was denied, reason="UnsupportedKeyType", message="use RSA4096"$/,
    );
    await node.untilEvent(
      'refused',
      'FailedMount',
      /PodCertificateRequest was permanently denied: reason="UnsupportedKeyType" message="use RSA4096"/,
    );
    assert.equal(signer.requestsOf('refused').length, 1);
    await node.delete('refused');
    await node.untilGone('refused');
  });

  test('a restarted kubelet requests a new certificate, and the running container sees it', async () => {
    await create('restarted', [{ keyType: 'ECDSAP256', ...bundle }]);
    await node.untilRunning('restarted');
    const [first, container] = [await read('restarted', 'bundle.pem'), await containerOf('restarted')];
    await node.restartKubelet();
    const second = await waitUntil(
      'the file has another certificate',
      async () => {
        // The kubelet is healthy before it has listed its pods.
        const pem = await read('restarted', 'bundle.pem').catch(() => first);
        return pem === first ? undefined : pem;
      },
      waitTimeoutMs,
    );
    assert.ok(isForKey(second, second));
    const { containerID, restartCount } = (await containerOf('restarted')) ?? {};
    assert.deepEqual([containerID, restartCount], [container?.containerID, 0]);
  });

  test('a due certificate is renewed in the running container, with an event when it is late', async () => {
    await create('renewed', [{ keyType: 'ECDSAP256', ...bundle }]);
    await node.untilRunning('renewed');
    const [first, container] = [await read('renewed', 'bundle.pem'), await containerOf('renewed')];
    await signer.decide(() => 'wait');
    writeFileSync(join(node.node.folder, 'clock-ahead-ms'), String(clockJumpMs));
    // Timers do not follow a changed clock: the pod's next sync checks the certificate.
    await node.kubectl('annotate', 'pod', 'renewed', 'example.com/sync=now');
    await node.untilEvent('renewed', 'CertificateOverdueForRefresh', /^PodCertificate refresh overdue$/);
    await waitUntil('a renewal is requested', () => signer.requestsOf('renewed').length === 2, waitTimeoutMs);
    assert.equal(await read('renewed', 'bundle.pem'), first);
    await signer.decide(() => 'issue');
    await waitUntil('the file has another certificate', async () => (await read('renewed', 'bundle.pem')) !== first, waitTimeoutMs);
    const second = await read('renewed', 'bundle.pem');
    assert.ok(isForKey(second, second));
    assert.equal((await containerOf('renewed'))?.containerID, container?.containerID);
    assert.deepEqual(signer.errors, []);
  });
});
