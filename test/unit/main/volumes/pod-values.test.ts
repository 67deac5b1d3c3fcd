import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PodValues, type PodValuesOptions } from '../../../../src/main/volumes/index.ts';
import { referencedObjects } from '../../../../src/main/volumes/referenced-objects.ts';
import { trustAnchors } from '../../../../src/main/volumes/trust-anchors.ts';
import { TrustBundles } from '../../../../src/main/volumes/trust-bundles.ts';
import type { ValueRef } from '../../../../src/shared/contracts/values.ts';
import type { Pod, Volume } from '../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { apiError, FakeApi } from '../../../support/fake-api.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { silentLogger } from '../../../support/logger.ts';
import { aContainer, aPod } from '../../../support/pods.ts';

const tokenPath = '/api/v1/namespaces/default/serviceaccounts/sa/token';
const tokenVolume: Volume = {
  name: 't',
  projected: { sources: [{ serviceAccountToken: { path: 'token', expirationSeconds: 3607 } }, { configMap: { name: 'ca' } }] },
};
const fromApi = { annotations: { 'kubernetes.io/config.source': 'api' } };

function values(options: Partial<PodValuesOptions> = {}) {
  const clock = new FakeClock();
  const api = new FakeApi();
  const changed: string[][] = [];
  api.on('POST', tokenPath, { status: { token: 'jwt', expirationTimestamp: '2026-01-01T02:00:00Z' } });
  api.on('GET', '/api/v1/namespaces/default/configmaps/ca', {
    metadata: { name: 'ca', namespace: 'default', uid: 'u', resourceVersion: '1' },
    data: { 'ca.crt': 'CA' },
  });
  const podValues = PodValues.start({
    client: api,
    strategy: 'Watch',
    syncFrequencyMs: 60_000,
    objectTTLSeconds: () => undefined,
    projectsTrustBundles: true,
    certificates: null,
    isRunning: () => false,
    onChanged: (uids) => changed.push([...uids]),
    clock,
    logger: silentLogger,
    random: () => 0,
    ...options,
  });
  return { clock, api, changed, podValues };
}

const pod = aPod({ metadata: fromApi, spec: { serviceAccountName: 'sa', volumes: [tokenVolume] } });
const tokenRef: ValueRef = {
  kind: 'Token',
  namespace: 'default',
  serviceAccountName: 'sa',
  podName: 'web',
  podUID: 'uid-web',
  audience: '',
  expirationSeconds: 3607,
};

test('what a pod refers to is found wherever it stands', () => {
  const all = aPod({
    spec: {
      imagePullSecrets: [{ name: 'pull' }, {}],
      containers: [
        aContainer({
          env: [
            { name: 'A', valueFrom: { secretKeyRef: { name: 's1', key: 'k' } } },
            { name: 'B', valueFrom: { configMapKeyRef: { name: 'c1', key: 'k' } } },
          ],
        }),
      ],
      initContainers: [aContainer({ envFrom: [{ secretRef: { name: 's2' } }, { configMapRef: { name: 'c2' } }] })],
      volumes: [
        { name: 'a', secret: { secretName: 's3' } },
        { name: 'b', configMap: { name: 'c3' } },
        { name: 'c', projected: { sources: [{ secret: { name: 's4' } }, { configMap: { name: 'c1' } }] } },
      ],
    },
  });
  const { secrets, configMaps } = referencedObjects(all);
  assert.deepEqual([...secrets].sort(), ['pull', 's1', 's2', 's3', 's4']);
  assert.deepEqual([...configMaps].sort(), ['c1', 'c2', 'c3']);
});

test('a pod that is registered has its token and its objects asked for before its sync asks', async () => {
  const { api, podValues } = values();
  podValues.registerPod(pod);
  await settle();
  assert.deepEqual(
    api.calls.map(({ method, path }) => `${method} ${path}`),
    ['GET /api/v1/namespaces/default/configmaps/ca', `POST ${tokenPath}`],
  );
  const results = await podValues.values([tokenRef, { kind: 'ConfigMap', namespace: 'default', name: 'ca' }], pod);
  assert.deepEqual(results, [
    { outcome: 'value', value: { kind: 'Token', token: 'jwt' } },
    { outcome: 'value', value: { kind: 'ConfigMap', data: { 'ca.crt': 'CA' }, binaryData: {} } },
  ]);
  assert.equal(api.calls.length, 2);
  await podValues.close();
});

test('a pod that runs already has its token asked for only when its sync asks', async () => {
  const { api, podValues } = values({ isRunning: () => true });
  podValues.registerPod(pod);
  await settle();
  assert.deepEqual(api.callsTo('POST', tokenPath), []);
  await podValues.close();
});

test('what one value lacks is told with it, and the others are answered', async () => {
  const { api, podValues } = values();
  api.on('GET', '/api/v1/namespaces/default/secrets/gone', apiError(404, 'NotFound'));
  const withSecret = aPod({ metadata: fromApi, spec: { volumes: [tokenVolume, { name: 's', secret: { secretName: 'gone' } }] } });
  const results = await podValues.values(
    [
      { kind: 'Secret', namespace: 'default', name: 'gone' },
      { kind: 'ConfigMap', namespace: 'default', name: 'ca' },
      { kind: 'Secret', namespace: 'other', name: 'foreign' },
    ],
    withSecret,
  );
  assert.deepEqual(
    results.map((result) => (result.outcome === 'failed' ? result.failure : result.outcome)),
    [
      { reason: 'NotFound', message: 'secret "gone" not found' },
      'value',
      { reason: 'NotRegistered', message: 'object "other"/"foreign" not registered' },
    ],
  );
  await podValues.close();
});

test('when a pod has gone nothing of it is watched or renewed', async () => {
  const { clock, api, changed, podValues } = values();
  podValues.registerPod(pod);
  const watch = await api.nextWatch('/api/v1/namespaces/default/configmaps');
  podValues.unregisterPod('uid-web' as PodUID);
  assert.equal(watch.isOpen, false);
  // A token is renewed before its hour is over.
  await clock.advance(3_600_000);
  assert.deepEqual(changed, []);
  await podValues.close();
});

test('a pod whose spec changes has what it does not refer to any more let go', async () => {
  const { api, podValues } = values();
  podValues.registerPod(pod);
  const watch = await api.nextWatch('/api/v1/namespaces/default/configmaps');
  podValues.registerPod({ ...pod, spec: { ...pod.spec, volumes: [] } });
  assert.equal(watch.isOpen, false);
  await podValues.close();
});

const service = (name: string, namespace: string, clusterIP: string, resourceVersion = '5') => ({
  metadata: { name, namespace, uid: `${namespace}-${name}`, resourceVersion },
  spec: { clusterIP, ports: [{ port: 443 }] },
});
const servicesEnd = { metadata: { resourceVersion: '9', annotations: { 'k8s.io/initial-events-end': 'true' } } };

test("a pod is told of the API server, and of its namespace's services if it wants them", async () => {
  const { api, podValues } = values();
  const watch = await api.nextWatch('/api/v1/services');
  assert.equal(watch.call.query?.['fieldSelector'], 'spec.clusterIP!=None');
  for (const each of [
    service('kubernetes', 'default', '10.96.0.1'),
    service('db', 'shop', '10.96.0.2'),
    service('headless', 'shop', 'None'),
    service('kubernetes', 'shop', '10.96.0.9'),
    service('web', 'other', '10.96.0.3'),
  ])
    watch.push('ADDED', each);
  watch.push('BOOKMARK', servicesEnd);
  const names = async (links: boolean) => {
    const [result] = await podValues.values([{ kind: 'Services', namespace: 'shop', links }], pod);
    assert.ok(result?.outcome === 'value' && result.value.kind === 'Services');
    return result.value.services.map(({ name, clusterIP }) => `${name} ${clusterIP}`);
  };
  // A namespace that has a service of this name wants its pods to go there.
  assert.deepEqual(await names(true), ['db 10.96.0.2', 'kubernetes 10.96.0.9']);
  assert.deepEqual(await names(false), ['kubernetes 10.96.0.1']);
  watch.push('DELETED', service('kubernetes', 'shop', '10.96.0.9', '11'));
  await settle();
  assert.deepEqual(await names(true), ['kubernetes 10.96.0.1', 'db 10.96.0.2']);
  watch.push('DELETED', service('db', 'shop', '10.96.0.2', '12'));
  await settle();
  assert.deepEqual(await names(true), ['kubernetes 10.96.0.1']);
  await podValues.close();
});

test('without a list of services a pod of the API waits a second, a static one not at all', async () => {
  const { clock, podValues } = values();
  const refs: ValueRef[] = [{ kind: 'Services', namespace: 'default', links: true }];
  const [now] = await podValues.values(refs, aPod());
  assert.equal(now?.outcome, 'failed');
  const later = podValues.values(refs, pod);
  await clock.advance(1000);
  const [result] = await later;
  assert.ok(result?.outcome === 'failed');
  assert.equal(result.failure.message, 'services have not yet been read at least once, cannot construct envvars');
  await podValues.close();
});

const certificate = (text: string) => `-----BEGIN CERTIFICATE-----\n${Buffer.from(text).toString('base64')}\n-----END CERTIFICATE-----\n`;

test('trust anchors are there once each, in one order, without what stands between them', () => {
  const [a, b] = [certificate('a'.repeat(100)), certificate('b')];
  assert.equal(trustAnchors([`# comment\n${b}${a}`, a]), trustAnchors([a, b]));
  assert.match(trustAnchors([a]), /^-----BEGIN CERTIFICATE-----\n[^\n]{64}\n[^\n]{64}\n[^\n]{8}\n-----END CERTIFICATE-----\n$/);
  assert.equal(trustAnchors(['nothing']), '');
});

test('trust bundles are read from the first who asks on, and a change wakes those who have asked', async () => {
  const { api, changed, podValues } = values();
  api.on('GET', '/apis/certificates.k8s.io/v1beta1', { resources: [{ name: 'clustertrustbundles' }] });
  const ask = podValues.values(
    [
      { kind: 'TrustBundle', name: 'one', optional: false },
      { kind: 'TrustBundle', name: 'none', optional: true },
      { kind: 'TrustBundle', name: 'none', optional: false },
      { kind: 'SignerTrustBundles', signerName: 'example.com/s', labelSelector: { matchLabels: { live: 'yes' } }, optional: false },
      { kind: 'SignerTrustBundles', signerName: 'example.com/s', labelSelector: undefined, optional: false },
    ],
    pod,
  );
  const watch = await api.nextWatch('/apis/certificates.k8s.io/v1beta1/clustertrustbundles');
  const bundle = (name: string, fields: object, labels = {}) => ({
    metadata: { name, uid: name, resourceVersion: '5', labels },
    spec: { trustBundle: certificate(name), ...fields },
  });
  watch.push('ADDED', bundle('one', {}));
  watch.push('ADDED', bundle('two', { signerName: 'example.com/s' }, { live: 'yes' }));
  watch.push('BOOKMARK', servicesEnd);
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
  await podValues.close();
});

test('trust bundles are gone through once for all who ask the same, until one changes', async () => {
  const api = new FakeApi().on('GET', '/apis/certificates.k8s.io/v1beta1', { resources: [{ name: 'clustertrustbundles' }] });
  let times = 0;
  const normalize = (bundles: readonly string[]) => `${(times += 1)} ${bundles.join()}`;
  const clock = new FakeClock();
  const bundles = new TrustBundles({ client: api, isEnabled: true, onChanged: () => {}, clock, logger: silentLogger, normalize });
  const asked = bundles.byName('one', false, 'a');
  const watch = await api.nextWatch('/apis/certificates.k8s.io/v1beta1/clustertrustbundles');
  const bundle = (trustBundle: string, resourceVersion: string) => ({
    metadata: { name: 'one', uid: 'one', resourceVersion },
    spec: { trustBundle, signerName: 'example.com/s' },
  });
  watch.push('ADDED', bundle('A', '5'));
  watch.push('BOOKMARK', servicesEnd);
  assert.deepEqual([await asked, await bundles.byName('one', false, 'b')], ['1 A', '1 A']);
  assert.deepEqual(
    [await bundles.bySigner('example.com/s', {}, false, 'a'), await bundles.bySigner('example.com/s', {}, true, 'b')],
    ['2 A', '2 A'],
  );
  watch.push('MODIFIED', bundle('B', '12'));
  await settle();
  assert.equal(await bundles.byName('one', false, 'a'), '3 B');
  const values = Array.from({ length: 20_000 }, (_, index) => `v${index}`);
  const long = bundles.bySigner('example.com/s', { matchExpressions: [{ key: 'k', operator: 'In', values }] }, true, 'a');
  await assert.rejects(long, /^Error: label selector length \(\d+\) is larger than 102400$/);
  await bundles.close();
});

test('an API server that does not say which trust bundles it has holds up no end', async () => {
  const { api, podValues } = values();
  api.hold('GET', '/apis/certificates.k8s.io/v1beta1');
  const asked = podValues.values([{ kind: 'TrustBundle', name: 'one', optional: true }], pod);
  await settle();
  const [call] = api.callsTo('GET', '/apis/certificates.k8s.io/v1beta1');
  assert.deepEqual([call?.deadlineMs, call?.maxAttempts], [10_000, 1]);
  await podValues.close();
  assert.equal((await asked)[0]?.outcome, 'failed');
});

test('trust bundles behind a gate that is shut are refused', async () => {
  const { podValues } = values({ projectsTrustBundles: false });
  const [result] = await podValues.values([{ kind: 'TrustBundle', name: 'one', optional: true }], pod);
  assert.ok(result?.outcome === 'failed');
  assert.equal(result.failure.message, 'ClusterTrustBundle projection is not supported in static kubelet mode');
  await podValues.close();
});

test('under the strategy Cache a pod that has changed has only that read at once which it did not refer to before', async () => {
  const { api, podValues } = values({ strategy: 'Cache' });
  const ref: ValueRef = { kind: 'ConfigMap', namespace: 'default', name: 'ca' };
  const readWith = async (changed: Pod) => {
    podValues.registerPod(changed);
    for (let times = 0; times < 2; times += 1) await podValues.values([ref], changed);
    return api.calls.filter(({ method }) => method === 'GET').length;
  };
  assert.equal(await readWith(pod), 1);
  assert.equal(await readWith({ ...pod, status: { phase: 'Running' } }), 1);
  assert.equal(await readWith({ ...pod, spec: { ...pod.spec, volumes: [] } }), 1);
  assert.equal(await readWith({ ...pod, metadata: { ...pod.metadata, labels: { app: 'new' } } }), 2);
  await podValues.close();
});

const certificateVolume: Volume = { name: 'id', projected: { sources: [{ podCertificate: { signerName: 'e.x/s', keyType: 'ED25519' } }] } };
const withCertificate = aPod({ metadata: fromApi, spec: { serviceAccountName: 'sa', volumes: [certificateVolume] } });
const certificateRef: ValueRef = { kind: 'PodCertificate', volume: 'id', sourceIndex: 0 };

test('with the gate off nobody is asked for certificates', async () => {
  const { api, podValues } = values();
  const [result] = await podValues.values([certificateRef], withCertificate);
  assert.ok(result?.outcome === 'failed');
  assert.match(result.failure.message, /^podCertificate projection is not supported: the feature gate PodCertificateRequest is off/);
  assert.deepEqual(api.calls, []);
  await podValues.close();
});

test('a pod whose certificate is not issued yet is not one whose values are at hand', async () => {
  const { api, clock, changed, podValues } = values({
    certificates: { nodeName: 'n', nodeUID: () => 'n-uid', events: { record: () => {} } },
  });
  const requests = '/apis/certificates.k8s.io/v1beta1/podcertificaterequests';
  api.on('GET', '/api/v1/namespaces/default/serviceaccounts/sa', { metadata: { name: 'sa', uid: 'sa-uid' } });
  const asked = Promise.withResolvers<void>();
  api.on('POST', '/apis/certificates.k8s.io/v1beta1/namespaces/default/podcertificaterequests', () => {
    asked.resolve();
    return { metadata: { name: 'req-1', namespace: 'default', uid: 'r-1' } };
  });
  podValues.registerPod(withCertificate);
  assert.equal(podValues.isAtHand(withCertificate), false);
  await asked.promise;
  const watch = await api.nextWatch(requests);
  watch.push('BOOKMARK', servicesEnd);
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
  const [result] = await podValues.values([certificateRef], withCertificate);
  assert.ok(result?.outcome === 'value' && result.value.kind === 'Credentials');
  assert.equal(result.value.chainPEM, certificate('leaf'));
  assert.match(result.value.keyPEM, /PRIVATE KEY/);
  assert.deepEqual([podValues.isAtHand(withCertificate), changed], [true, [['uid-web']]]);
  podValues.unregisterPod('uid-web' as PodUID);
  await clock.advance(3_600_000);
  assert.equal(api.callsTo('POST', /podcertificaterequests/).length, 1);
  await podValues.close();
});
