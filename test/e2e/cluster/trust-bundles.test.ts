/** ClusterTrustBundles in a projected volume, enabled in API server and kubelet. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CertificateAuthority } from '../../../lab/control-plane/control-plane-certificates.ts';
import type { PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../../support/cleanups.ts';
import { alphaGateFlags } from '../../support/cluster/alpha-gates.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { privateCluster } from '../../support/cluster/control-plane.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

const path = '/apis/certificates.k8s.io/v1/clustertrustbundles';
/** `clusterTrustBundle` of a projected volume's source. */
type BundleSource = NonNullable<Sources[number]['clusterTrustBundle']>;
type Sources = NonNullable<NonNullable<NonNullable<PodSpec['volumes']>[number]['projected']>['sources']>;

const signerName = 'example.com/internal';

describe('trust bundles in a projected volume', () => {
  const hooks = new Cleanups();
  const certificates = mkdtempSync(join(tmpdir(), 'trust-'));
  hooks.after(() => rmSync(certificates, { recursive: true }));
  let node: TestClusterNode;

  before(async () => {
    const cluster = await privateCluster(hooks, { scheduler: false, apiServerFlags: alphaGateFlags });
    node = await TestClusterNode.start('cluster-trust', { cluster, config: { featureGates: { AtomicWriteVolumeUserFields: true } } });
    hooks.after(() => node.destroy());
  });
  after(() => hooks.run());

  /** Creates a certificate authority of that name. Returns its certificate in PEM. */
  const anchor = (name: string) => readFileSync(new CertificateAuthority(join(certificates, name), name).certFile, 'utf8');
  const createBundle = (name: string, authority: string, labels: Record<string, string> = {}, signer?: string) =>
    node.api.create(path, { metadata: { name, labels }, spec: { trustBundle: anchor(authority), ...(signer && { signerName: signer }) } });
  const create = (name: string, sources: readonly BundleSource[]) =>
    node.create(name, {
      automountServiceAccountToken: false,
      containers: [aBusybox({ volumeMounts: [{ name: 'trust', mountPath: '/trust' }] })],
      volumes: [{ name: 'trust', projected: { sources: sources.map((clusterTrustBundle) => ({ clusterTrustBundle })) } }],
    });
  /** Waits until the file has exactly the certificates of these authorities. */
  const untilTrusts = (name: string, file: string, wanted: readonly string[]) =>
    waitUntil(
      `${file} of ${name} has ${wanted.join(', ')}`,
      async () => {
        const text = await node.exec(name, `cat /trust/${file}`);
        return (
          text.match(/BEGIN CERTIFICATE/g)?.length === wanted.length && wanted.every((authority) => text.includes(anchor(authority).trim()))
        );
      },
      60_000,
    );

  test('a bundle by name is written before the start, and updated in the running container', async () => {
    await createBundle('named', 'one');
    await create('by-name', [{ name: 'named', path: 'named.pem', user: 1000 }]);
    const { status } = await node.untilRunning('by-name');
    await untilTrusts('by-name', 'named.pem', ['one']);
    assert.equal(await node.exec('by-name', 'stat -L -c "%u %a" /trust/named.pem'), '1000 600\n');
    await node.api.patch(`${path}/named`, { spec: { trustBundle: `${anchor('one')}and\n${anchor('two')}` } });
    await untilTrusts('by-name', 'named.pem', ['one', 'two']);
    const current = await node.get('by-name');
    assert.equal(await node.exec('by-name', 'stat -L -c "%u %a" /trust/named.pem'), '1000 600\n');
    assert.equal(current.status?.containerStatuses?.[0]?.containerID, status?.containerStatuses?.[0]?.containerID);
  });

  test('bundles of a signer follow the label selector in the running container', async () => {
    await createBundle('example.com:internal:live', 'live', { stage: 'live' }, signerName);
    await createBundle('example.com:internal:test', 'test', { stage: 'test' }, signerName);
    await create('by-signer', [
      { signerName, labelSelector: { matchLabels: { stage: 'live' } }, path: 'live.pem' },
      { signerName, labelSelector: {}, path: 'all.pem' },
      { signerName: 'example.com/no-such-signer', labelSelector: {}, path: 'none.pem', optional: true },
    ]);
    await node.untilRunning('by-signer');
    await untilTrusts('by-signer', 'live.pem', ['live']);
    await untilTrusts('by-signer', 'all.pem', ['live', 'test']);
    assert.equal(await node.exec('by-signer', 'cat /trust/none.pem'), '');
    await createBundle('example.com:internal:next', 'next', { stage: 'live' }, signerName);
    await untilTrusts('by-signer', 'live.pem', ['live', 'next']);
    await untilTrusts('by-signer', 'all.pem', ['live', 'next', 'test']);
    await node.api.delete(`${path}/example.com:internal:live`);
    await untilTrusts('by-signer', 'live.pem', ['next']);
    await untilTrusts('by-signer', 'all.pem', ['next', 'test']);
  });

  test('a missing bundle delays the pod with an event that names it', async () => {
    await create('waits', [{ name: 'late', path: 'late.pem' }]);
    await node.untilEvent('waits', 'FailedMount', /clustertrustbundle\.certificates\.k8s\.io "late" not found/);
    await createBundle('late', 'late');
    await node.untilRunning('waits');
    await untilTrusts('waits', 'late.pem', ['late']);
  });
});
