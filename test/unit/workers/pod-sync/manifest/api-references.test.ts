import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aManifest, errorsOf, type Json } from '../../../../support/pods/manifests.ts';
import { table } from '../../../../support/table.ts';

const withVolume = (source: Json) => aManifest({ spec: { volumes: [{ name: 'v', ...source }] } });
const projected = (source: Json) => withVolume({ projected: { sources: [source] } });

const cases: readonly [reference: string, manifest: Json][] = [
  ['serviceaccounts', aManifest({ spec: { serviceAccountName: 'robot' } })],
  ['serviceaccounts', aManifest({ spec: { serviceAccount: 'robot' } })],
  ['secrets', aManifest({ spec: { imagePullSecrets: [{ name: 's' }] } })],
  ['secrets', withVolume({ secret: { secretName: 's' } })],
  ['secrets', aManifest({ container: { envFrom: [{ secretRef: { name: 's' } }] } })],
  ['secrets', aManifest({ container: { env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] } })],
  ['secrets', withVolume({ flexVolume: { driver: 'd', secretRef: { name: 's' } } })],
  ['configmaps', withVolume({ configMap: { name: 'c' } })],
  ['configmaps', aManifest({ container: { env: [{ name: 'A', valueFrom: { configMapKeyRef: { name: 'c', key: 'k' } } }] } })],
  ['configmaps', projected({ configMap: { name: 'c' } })],
  ['resourceclaims', aManifest({ spec: { resourceClaims: [{ name: 'r', resourceClaimName: 'c' }] } })],
  ['csidrivers (via CSI volumes)', withVolume({ csi: { driver: 'csi.example.com' } })],
  ['endpoints (via glusterFS volumes)', withVolume({ glusterfs: { endpoints: 'e', path: 'p' } })],
  ['persistentvolumeclaims', withVolume({ persistentVolumeClaim: { claimName: 'c' } })],
  ['clustertrustbundles', projected({ clusterTrustBundle: { name: 'b', path: 'ca.pem' } })],
];
table('a static pod may not reference API objects', (row) => {
  for (const [reference, manifest] of cases) {
    const what = JSON.stringify(manifest['spec']).slice(0, 120);
    row(`a static pod may not reference ${reference}: ${what}`, () => {
      assert.deepEqual(errorsOf(manifest), [`static pods may not reference ${reference}`]);
    });
  }
});

test('a static pod may use the node’s own volumes', () => {
  const volumes = [
    { name: 'a', emptyDir: {} },
    { name: 'b', hostPath: { path: '/var/log' } },
    { name: 'c', nfs: { server: 's', path: '/x' } },
  ];
  const downward = { projected: { sources: [{ downwardAPI: { items: [{ path: 'name', fieldRef: { fieldPath: 'metadata.name' } }] } }] } };
  assert.deepEqual(errorsOf(aManifest({ spec: { volumes: [...volumes, { name: 'd', ...downward }] } })), []);
});
