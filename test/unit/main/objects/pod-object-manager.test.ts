import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxPodObjects, objectCountProblem, referencedObjects } from '../../../../src/main/objects/referenced-objects.ts';
import type { PodObjectRef } from '../../../../src/shared/contracts/pod-objects.ts';
import type { Pod } from '../../../../src/shared/kubernetes/api.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { apiError } from '../../../support/api-server/fake-api.ts';
import { settle } from '../../../support/fake-clock.ts';
import { aContainer, aPod } from '../../../support/pods/pods.ts';
import { fromApi, initialEnd, pod, tokenPath, tokenRef, tokenVolume, aPodObjectManager } from '../../../support/pods/pod-object-manager.ts';

test('all references of a pod are found', () => {
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

test('a pod that refers to more objects than a pod may have gets none of them', async () => {
  const { api, manager } = aPodObjectManager();
  const sources = Array.from({ length: maxPodObjects }, (_, index) => ({ configMap: { name: `c${index}` } }));
  const withTokens = (...audiences: string[]) => {
    const tokens = audiences.map((audience) => ({ serviceAccountToken: { audience, path: audience } }));
    const volumes = [{ name: 'v', projected: { sources: [...sources, ...tokens] } }];
    return aPod({ metadata: { ...fromApi, name: 'many', uid: 'many' }, spec: { volumes } });
  };
  const tooMany = withTokens('a');
  const ref: PodObjectRef = { kind: 'ConfigMap', namespace: 'ns', name: 'c0' };
  const [result] = await manager.get([ref], tooMany);
  assert.deepEqual(result, {
    outcome: 'failed',
    failure: {
      reason: 'TooManyObjects',
      message: 'the pod refers to 501 secrets, config maps, tokens and certificates, more than the 500 that a pod may have',
    },
  });
  assert.equal(manager.dependenciesReady(tooMany), false);
  assert.deepEqual(
    api.calls.filter(({ path }) => /configmaps|token/.test(path)),
    [],
  );
  assert.equal(objectCountProblem(withTokens(), referencedObjects(withTokens())), null);
  manager.unregisterPod('many' as PodUID);
  await manager.close();
});

test('a pod is ready without the root CA of its namespace, but not without its other objects', async () => {
  const { manager } = aPodObjectManager();
  const withConfigMaps = (...names: string[]) => {
    const sources = names.map((name) => ({ configMap: { name } }));
    const registered = aPod({
      metadata: { ...fromApi, name: names.join('-'), uid: names.join('-') },
      spec: { volumes: [{ name: 'v', projected: { sources } }] },
    });
    manager.registerPod(registered);
    return registered;
  };
  assert.equal(manager.dependenciesReady(withConfigMaps('kube-root-ca.crt')), true);
  const other = withConfigMaps('kube-root-ca.crt', 'ca');
  assert.equal(manager.dependenciesReady(other), false);
  await settle();
  assert.equal(manager.dependenciesReady(other), true);
  await manager.close();
});

test('registering a pod requests its token and objects before its sync', async () => {
  const { api, manager } = aPodObjectManager();
  manager.registerPod(pod);
  await settle();
  assert.deepEqual(
    api.calls.map(({ method, path }) => `${method} ${path}`),
    ['GET /api/v1/namespaces/default/configmaps/ca', `POST ${tokenPath}`],
  );
  const results = await manager.get([tokenRef, { kind: 'ConfigMap', namespace: 'default', name: 'ca' }], pod);
  assert.deepEqual(results, [
    { outcome: 'value', value: { kind: 'Token', token: 'jwt' } },
    { outcome: 'value', value: { kind: 'ConfigMap', data: { 'ca.crt': 'CA' }, binaryData: {} } },
  ]);
  assert.equal(api.calls.length, 2);
  await manager.close();
});

test('the token of a running pod is requested only by its sync', async () => {
  const { api, manager } = aPodObjectManager({ isRunning: () => true });
  manager.registerPod(pod);
  await settle();
  assert.deepEqual(api.callsTo('POST', tokenPath), []);
  await manager.close();
});

test('a failed object does not fail the others', async () => {
  const { api, manager } = aPodObjectManager();
  api.on('GET', '/api/v1/namespaces/default/secrets/gone', apiError(404, 'NotFound'));
  const withSecret = aPod({ metadata: fromApi, spec: { volumes: [tokenVolume, { name: 's', secret: { secretName: 'gone' } }] } });
  const results = await manager.get(
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
  await manager.close();
});

test('nothing of an unregistered pod is watched or renewed', async () => {
  const { clock, api, changed, manager } = aPodObjectManager();
  manager.registerPod(pod);
  const watch = await api.nextWatch('/api/v1/namespaces/default/configmaps');
  manager.unregisterPod('uid-web' as PodUID);
  assert.equal(watch.isOpen, false);
  // A token is renewed within an hour.
  await clock.advance(3_600_000);
  assert.deepEqual(changed, []);
  await manager.close();
});

test('a changed spec removes references that it no longer has', async () => {
  const { api, manager } = aPodObjectManager();
  manager.registerPod(pod);
  const watch = await api.nextWatch('/api/v1/namespaces/default/configmaps');
  manager.registerPod({ ...pod, spec: { ...pod.spec, volumes: [] } });
  assert.equal(watch.isOpen, false);
  await manager.close();
});

const service = (name: string, namespace: string, clusterIP: string, resourceVersion = '5') => ({
  metadata: { name, namespace, uid: `${namespace}-${name}`, resourceVersion },
  spec: { clusterIP, ports: [{ port: 443 }] },
});

test('a pod gets the API server’s service, and its namespace’s services with enableServiceLinks', async () => {
  const { api, manager } = aPodObjectManager();
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
  watch.push('BOOKMARK', initialEnd);
  const names = async (links: boolean) => {
    const [result] = await manager.get([{ kind: 'Services', namespace: 'shop', links }], pod);
    assert.ok(result?.outcome === 'value' && result.value.kind === 'Services');
    return result.value.services.map(({ name, clusterIP }) => `${name} ${clusterIP}`);
  };
  // A namespace’s own service of this name takes precedence.
  assert.deepEqual(await names(true), ['db 10.96.0.2', 'kubernetes 10.96.0.9']);
  assert.deepEqual(await names(false), ['kubernetes 10.96.0.1']);
  watch.push('DELETED', service('kubernetes', 'shop', '10.96.0.9', '11'));
  await settle();
  assert.deepEqual(await names(true), ['kubernetes 10.96.0.1', 'db 10.96.0.2']);
  watch.push('DELETED', service('db', 'shop', '10.96.0.2', '12'));
  await settle();
  assert.deepEqual(await names(true), ['kubernetes 10.96.0.1']);
  await manager.close();
});

test('without a list of services an API pod waits one second and a static pod does not wait', async () => {
  const { clock, manager } = aPodObjectManager();
  const refs: PodObjectRef[] = [{ kind: 'Services', namespace: 'default', links: true }];
  const [now] = await manager.get(refs, aPod());
  assert.equal(now?.outcome, 'failed');
  const later = manager.get(refs, pod);
  await clock.advance(1000);
  const [result] = await later;
  assert.ok(result?.outcome === 'failed');
  assert.equal(result.failure.message, 'services have not yet been read at least once, cannot construct envvars');
  await manager.close();
});

test('under Cache a changed pod reads only its new references', async () => {
  const { api, manager } = aPodObjectManager({ strategy: 'Cache' });
  const ref: PodObjectRef = { kind: 'ConfigMap', namespace: 'default', name: 'ca' };
  const readWith = async (changed: Pod) => {
    manager.registerPod(changed);
    for (let times = 0; times < 2; times += 1) await manager.get([ref], changed);
    return api.calls.filter(({ method }) => method === 'GET').length;
  };
  assert.equal(await readWith(pod), 1);
  assert.equal(await readWith({ ...pod, status: { phase: 'Running' } }), 1);
  assert.equal(await readWith({ ...pod, spec: { ...pod.spec, volumes: [] } }), 1);
  assert.equal(await readWith({ ...pod, metadata: { ...pod.metadata, labels: { app: 'new' } } }), 2);
  await manager.close();
});

test('a pull that outlives its pod gets no token', async () => {
  const { api, manager } = aPodObjectManager();
  const account = Promise.withResolvers<object>();
  api.on('GET', '/api/v1/namespaces/default/serviceaccounts/sa', () => account.promise);
  manager.registerPod(aPod({ metadata: fromApi, spec: { serviceAccountName: 'sa' } }));
  const podRef = { namespace: 'default', serviceAccountName: 'sa', podName: 'web', podUID: 'uid-web' };
  const reply = manager.pullToken({ ...podRef, audience: 'registry', requiredAnnotations: [], optionalAnnotations: [] });
  await settle();
  manager.unregisterPod('uid-web' as PodUID);
  account.resolve({ metadata: { name: 'sa', namespace: 'default', uid: 'sa-uid' } });
  const { outcome } = await reply;
  assert.equal(outcome, 'failed');
  assert.deepEqual(api.callsTo('POST', tokenPath), [], 'nothing would drop this token');
  await manager.close();
});
