/** Cluster trust bundles of pods that project them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { normalizeTrustAnchors } from '../../../../src/main/objects/trust-anchors.ts';
import { ClusterTrustBundleManager } from '../../../../src/main/objects/cluster-trust-bundle-manager.ts';
import { FakeApi } from '../../../support/api-server/fake-api.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { silentLogger } from '../../../support/logger.ts';
import { certificate, initialEnd, pod, aPodObjectManager } from '../../../support/pods/pod-object-manager.ts';

test('trust anchors are deduplicated, sorted and without text between them', () => {
  const [a, b] = [certificate('a'.repeat(100)), certificate('b')];
  assert.equal(normalizeTrustAnchors([`# comment\n${b}${a}`, a]), normalizeTrustAnchors([a, b]));
  assert.match(normalizeTrustAnchors([a]), /^-----BEGIN CERTIFICATE-----\n[^\n]{64}\n[^\n]{64}\n[^\n]{8}\n-----END CERTIFICATE-----\n$/);
  assert.equal(normalizeTrustAnchors(['nothing']), '');
});

test('trust bundles are read from the first request on, and a change notifies the pods that requested them', async () => {
  const { api, changed, manager } = aPodObjectManager();
  api.on('GET', '/apis/certificates.k8s.io/v1', { resources: [{ name: 'clustertrustbundles' }] });
  const ask = manager.get(
    [
      { kind: 'TrustBundle', name: 'one', optional: false },
      { kind: 'TrustBundle', name: 'none', optional: true },
      { kind: 'TrustBundle', name: 'none', optional: false },
      { kind: 'SignerTrustBundles', signerName: 'example.com/s', labelSelector: { matchLabels: { live: 'yes' } }, optional: false },
      { kind: 'SignerTrustBundles', signerName: 'example.com/s', labelSelector: undefined, optional: false },
    ],
    pod,
  );
  const watch = await api.nextWatch('/apis/certificates.k8s.io/v1/clustertrustbundles');
  const bundle = (name: string, fields: object, labels = {}) => ({
    metadata: { name, uid: name, resourceVersion: '5', labels },
    spec: { trustBundle: certificate(name), ...fields },
  });
  watch.push('ADDED', bundle('one', {}));
  watch.push('ADDED', bundle('two', { signerName: 'example.com/s' }, { live: 'yes' }));
  watch.push('BOOKMARK', initialEnd);
  const results = await ask;
  assert.deepEqual(
    results.map((result) =>
      result.outcome === 'failed' ? result.failure.message : result.value.kind === 'TrustAnchors' ? result.value.pem : '',
    ),
    [
      certificate('one'),
      '',
      'while getting ClusterTrustBundle: clustertrustbundle.certificates.k8s.io "none" not found',
      certificate('two'),
      'combination of signerName and labelSelector matched zero ClusterTrustBundles',
    ],
  );
  changed.length = 0;
  watch.push('MODIFIED', { ...bundle('one', {}), metadata: { name: 'one', uid: 'one', resourceVersion: '12' } });
  await settle();
  assert.deepEqual(changed, [['uid-web']]);
  await manager.close();
});

test('trust anchors are normalized once per request until a bundle changes', async () => {
  const api = new FakeApi().on('GET', '/apis/certificates.k8s.io/v1', { resources: [{ name: 'clustertrustbundles' }] });
  let times = 0;
  const normalize = (bundles: readonly string[]) => `${(times += 1)} ${bundles.join()}`;
  const clock = new FakeClock();
  const bundles = new ClusterTrustBundleManager({
    client: api,
    isEnabled: true,
    onChanged: () => {},
    clock,
    logger: silentLogger,
    normalize,
  });
  const first = bundles.getTrustAnchorsByName('one', false, 'a');
  const watch = await api.nextWatch('/apis/certificates.k8s.io/v1/clustertrustbundles');
  const bundle = (trustBundle: string, resourceVersion: string) => ({
    metadata: { name: 'one', uid: 'one', resourceVersion },
    spec: { trustBundle, signerName: 'example.com/s' },
  });
  watch.push('ADDED', bundle('A', '5'));
  watch.push('BOOKMARK', initialEnd);
  assert.deepEqual([await first, await bundles.getTrustAnchorsByName('one', false, 'b')], ['1 A', '1 A']);
  assert.deepEqual(
    [
      await bundles.getTrustAnchorsBySigner('example.com/s', {}, false, 'a'),
      await bundles.getTrustAnchorsBySigner('example.com/s', {}, true, 'b'),
    ],
    ['2 A', '2 A'],
  );
  watch.push('MODIFIED', bundle('B', '12'));
  await settle();
  assert.equal(await bundles.getTrustAnchorsByName('one', false, 'a'), '3 B');
  const values = Array.from({ length: 20_000 }, (_, index) => `v${index}`);
  const long = bundles.getTrustAnchorsBySigner('example.com/s', { matchExpressions: [{ key: 'k', operator: 'In', values }] }, true, 'a');
  await assert.rejects(long, /^Error: label selector length \(\d+\) is larger than 102400$/);
  await bundles.close();
});

test('closing does not wait for the API server’s discovery', async () => {
  const { api, manager } = aPodObjectManager();
  api.deferResponse('GET', '/apis/certificates.k8s.io/v1');
  const result = manager.get([{ kind: 'TrustBundle', name: 'one', optional: true }], pod);
  await settle();
  const [call] = api.callsTo('GET', '/apis/certificates.k8s.io/v1');
  assert.deepEqual([call?.deadlineMs, call?.maxAttempts], [10_000, 1]);
  await manager.close();
  assert.equal((await result)[0]?.outcome, 'failed');
});

test('trust bundles are rejected while the gate is off', async () => {
  const { manager } = aPodObjectManager({ projectsTrustBundles: false });
  const [result] = await manager.get([{ kind: 'TrustBundle', name: 'one', optional: true }], pod);
  assert.ok(result?.outcome === 'failed');
  assert.equal(result.failure.message, 'ClusterTrustBundle projection is not supported in static kubelet mode');
  await manager.close();
});
