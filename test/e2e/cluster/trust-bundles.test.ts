/** ClusterTrustBundles in a projected volume, where both the API server and the kubelet have them switched on. */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { CertificateAuthority } from '../../../scripts/host/control-plane-certificates.ts';
import type { PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { ClusterNode } from '../../support/cluster-node.ts';
import { privateCluster } from '../../support/control-plane.ts';
import { waitUntil } from '../../support/simulated-runtime.ts';
import { aBusybox } from '../../support/test-node.ts';

const path = '/apis/certificates.k8s.io/v1beta1/clustertrustbundles';
/** `clusterTrustBundle` of a projected volume's source. */
type BundleSource = NonNullable<Sources[number]['clusterTrustBundle']>;
type Sources = NonNullable<NonNullable<NonNullable<PodSpec['volumes']>[number]['projected']>['sources']>;

const signerName = 'example.com/internal';

describe('trust bundles of a pod', () => {
  const cleanups: (() => Promise<unknown> | void)[] = [];
  const later = { after: (clean: () => Promise<unknown> | void) => void cleanups.push(clean) };
  const certificates = mkdtempSync(join(tmpdir(), 'trust-'));
  later.after(() => rmSync(certificates, { recursive: true }));
  let node: ClusterNode;

  before(async () => {
    const gates = { ClusterTrustBundle: true, ClusterTrustBundleProjection: true };
    const cluster = await privateCluster(later, {
      scheduler: false,
      apiServerFlags: [
        '--runtime-config=certificates.k8s.io/v1beta1/clustertrustbundles=true',
        '--feature-gates=ClusterTrustBundle=true,ClusterTrustBundleProjection=true',
      ],
    });
    node = await ClusterNode.start('cluster-trust', { of: cluster, config: { featureGates: gates } });
    later.after(() => node.destroy());
  });
  after(async () => {
    for (const clean of cleanups.toReversed()) await clean();
  });

  /** The certificate of an authority of that name, as PEM. */
  const anchor = (name: string) => readFileSync(new CertificateAuthority(join(certificates, name), name).certFile, 'utf8');
  const createBundle = (name: string, of: string, labels: Record<string, string> = {}, signer?: string) =>
    node.api.create(path, { metadata: { name, labels }, spec: { trustBundle: anchor(of), ...(signer && { signerName: signer }) } });
  const create = (name: string, sources: readonly BundleSource[]) =>
    node.create(name, {
      automountServiceAccountToken: false,
      containers: [aBusybox({ volumeMounts: [{ name: 'trust', mountPath: '/trust' }] })],
      volumes: [{ name: 'trust', projected: { sources: sources.map((clusterTrustBundle) => ({ clusterTrustBundle })) } }],
    });
  /** Whose certificates are in the file. */
  const untilTrusts = (name: string, file: string, wanted: readonly string[]) =>
    waitUntil(
      `${file} of ${name} has ${wanted.join(', ')}`,
      async () => {
        const text = await node.exec(name, `cat /trust/${file}`);
        return text.match(/BEGIN CERTIFICATE/g)?.length === wanted.length && wanted.every((of) => text.includes(anchor(of).trim()));
      },
      60_000,
    );

  test('by its name: there when the container starts, and as it is now while that runs', async () => {
    await createBundle('named', 'one');
    await create('by-name', [{ name: 'named', path: 'named.pem' }]);
    const { status } = await node.untilRunning('by-name');
    await untilTrusts('by-name', 'named.pem', ['one']);
    await node.api.patch(`${path}/named`, { spec: { trustBundle: `${anchor('one')}and\n${anchor('two')}` } });
    await untilTrusts('by-name', 'named.pem', ['one', 'two']);
    const now = await node.get('by-name');
    assert.equal(now.status?.containerStatuses?.[0]?.containerID, status?.containerStatuses?.[0]?.containerID);
  });

  test('of a signer, those that the selector takes: more and fewer while the container runs', async () => {
    await createBundle('example.com:internal:live', 'live', { stage: 'live' }, signerName);
    await createBundle('example.com:internal:test', 'test', { stage: 'test' }, signerName);
    await create('by-signer', [
      { signerName, labelSelector: { matchLabels: { stage: 'live' } }, path: 'live.pem' },
      { signerName, labelSelector: {}, path: 'all.pem' },
      { signerName: 'example.com/nobody', labelSelector: {}, path: 'none.pem', optional: true },
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

  test('that is not there yet is waited for, with an event that says which', async () => {
    await create('waits', [{ name: 'late', path: 'late.pem' }]);
    await node.untilEvent('waits', 'FailedMount', /clustertrustbundle\.certificates\.k8s\.io "late" not found/);
    await createBundle('late', 'late');
    await node.untilRunning('waits');
    await untilTrusts('waits', 'late.pem', ['late']);
  });
});
