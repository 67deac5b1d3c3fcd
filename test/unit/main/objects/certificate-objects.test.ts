/** The PodObjectManager with pod certificates. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { PodObjectRef } from '../../../../src/shared/contracts/pod-objects.ts';
import type { Volume } from '../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { aPod } from '../../../support/pods/pods.ts';
import { certificate, fromApi, initialEnd, aPodObjectManager } from '../../../support/pods/pod-object-manager.ts';

const certificateVolume: Volume = { name: 'id', projected: { sources: [{ podCertificate: { signerName: 'e.x/s', keyType: 'ED25519' } }] } };
const withCertificate = aPod({ metadata: fromApi, spec: { serviceAccountName: 'sa', volumes: [certificateVolume] } });
const certificateRef: PodObjectRef = { kind: 'PodCertificate', volume: 'id', sourceIndex: 0 };

test('with the gate off no certificate is requested', async () => {
  const { api, manager } = aPodObjectManager();
  const [result] = await manager.get([certificateRef], withCertificate);
  assert.ok(result?.outcome === 'failed');
  assert.match(result.failure.message, /^podCertificate projection is not supported: the feature gate PodCertificateRequest is off/);
  assert.deepEqual(api.calls, []);
  await manager.close();
});

test('a pod whose certificate is not issued is not ready to start', async () => {
  const { api, clock, changed, manager } = aPodObjectManager({
    certificates: { nodeName: 'n', nodeUID: () => 'n-uid', events: { record: () => {} } },
  });
  const requests = '/apis/certificates.k8s.io/v1/podcertificaterequests';
  api.on('GET', '/api/v1/namespaces/default/serviceaccounts/sa', { metadata: { name: 'sa', uid: 'sa-uid' } });
  const requested = Promise.withResolvers<void>();
  api.on('POST', '/apis/certificates.k8s.io/v1/namespaces/default/podcertificaterequests', () => {
    requested.resolve();
    return { metadata: { name: 'req-1', namespace: 'default', uid: 'r-1' } };
  });
  manager.registerPod(withCertificate);
  assert.equal(manager.dependenciesReady(withCertificate), false);
  await requested.promise;
  const watch = await api.nextWatch(requests);
  watch.push('BOOKMARK', initialEnd);
  watch.push('ADDED', {
    metadata: { name: 'req-1', namespace: 'default', uid: 'r-1', resourceVersion: '10' },
    spec: { podUID: 'uid-web' },
    status: {
      conditions: [{ type: 'Issued' }],
      certificateChain: certificate('leaf'),
      beginRefreshAt: new Date(clock.now() + 1_800_000).toISOString(),
      notAfter: new Date(clock.now() + 3_600_000).toISOString(),
    },
  });
  const [result] = await manager.get([certificateRef], withCertificate);
  assert.ok(result?.outcome === 'value' && result.value.kind === 'Credentials');
  assert.equal(result.value.chainPEM, certificate('leaf'));
  assert.match(result.value.keyPEM, /PRIVATE KEY/);
  assert.deepEqual([manager.dependenciesReady(withCertificate), changed], [true, [['uid-web']]]);
  manager.unregisterPod('uid-web' as PodUID);
  await clock.advance(3_600_000);
  assert.equal(api.callsTo('POST', /podcertificaterequests/).length, 1);
  await manager.close();
});
