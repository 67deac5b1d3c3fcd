/** The registration of a node in its cluster, and the deletion of its Node. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../../../src/main/node/node-object.ts';
import type { RuntimeImage } from '../../../../../src/shared/contracts/images.ts';
import { apiError } from '../../../../support/api-server/fake-api.ts';
import { localConfig } from '../../../../support/pods/local-node-status.ts';
import { aCluster, idle, nodes, path, service } from '../../../../support/cluster/cluster-node-fixture.ts';
import { kubernetesVersion } from '../../../../../src/shared/kubernetes/version.ts';

test('a new node is created with its full status, and its start is recorded as an event', async (t) => {
  const { api, events, patches, start } = await aCluster();
  const { clusterNode, sync } = await start(t);
  await clusterNode.registered;
  await sync();
  const [created] = api.callsTo('POST', nodes).map(({ body }) => body as Node);
  assert.equal(created?.status?.nodeInfo?.bootID, 'boot-1');
  assert.deepEqual(
    events,
    ['Starting', 'NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID'].map((reason) => `Node/n1 ${reason}`),
  );
  assert.equal(patches().length, 0);
  assert.equal(clusterNode.node().metadata.uid, 'u1');
  assert.deepEqual(clusterNode.hostIPs(), ['192.0.2.7']);
});

test('a node is registered before its images are listed, and reports them afterwards', async (t) => {
  const images = Promise.withResolvers<readonly RuntimeImage[]>();
  const { api, start, patches } = await aCluster({ local: { listImages: () => images.promise } });
  const { clusterNode, sync } = await start(t);
  await clusterNode.registered;
  await sync();
  const [created] = api.callsTo('POST', nodes).map(({ body }) => body as Node);
  assert.deepEqual([created?.status?.images, patches()], [undefined, []]);
  images.resolve([{ id: 'a', sizeBytes: 7, repoTags: ['registry/a:1'], repoDigests: [] }]);
  await sync();
  assert.deepEqual(
    patches().map((patch) => patch.status?.images),
    [[{ names: ['registry/a:1'], sizeBytes: 7 }]],
  );
});

test('the registration is retried with growing delays, and its events are recorded once', async (t) => {
  const { api, clock, start, events } = await aCluster();
  api
    .once('POST', nodes, apiError(0, 'Unreachable'))
    .once('POST', nodes, apiError(503, 'ServiceUnavailable'))
    .once('POST', nodes, apiError(500, 'InternalError'));
  const { clusterNode } = await start(t);
  await clock.advance(2000);
  await clusterNode.registered;
  assert.equal(api.callsTo('POST', nodes).length, 4);
  assert.equal(events.filter((event) => event.endsWith('NodeHasSufficientMemory')).length, 1);
});

test('a kubelet that may not create its node uses the existing one', async (t) => {
  const { api, start } = await aCluster({ existing: {} });
  api.on('POST', nodes, apiError(403, 'Forbidden'));
  const { clusterNode } = await start(t);
  await clusterNode.registered;
});

test('an existing node without a provider ID gets the configured one, and is registered even if that is rejected', async (t) => {
  for (const answer of [{ metadata: { name: 'n1', uid: 'u1', resourceVersion: '9' } }, apiError(403, 'Forbidden')]) {
    const { api, start } = await aCluster({ existing: { spec: {} }, local: { config: { ...localConfig, providerID: 'cloud://1' } } });
    api.on('PATCH', path, answer);
    const { clusterNode } = await start(t);
    await clusterNode.registered;
    assert.deepEqual(
      api.callsTo('PATCH', path).map(({ body }) => body),
      [{ spec: { providerID: 'cloud://1' } }],
    );
  }
});

test('an existing provider ID is kept', async (t) => {
  const { api, start } = await aCluster({
    existing: { spec: { providerID: 'cloud://0' } },
    local: { config: { ...localConfig, providerID: 'cloud://1' } },
  });
  const { clusterNode } = await start(t);
  await clusterNode.registered;
  assert.deepEqual(api.callsTo('PATCH', path), []);
});

test('a kubelet with registerNode off waits for its node', async (t) => {
  const { api, start, server, clock, patches, lines } = await aCluster({ registerNode: false });
  const { clusterNode, sync, watch } = await start(t);
  await sync();
  await clock.advance(60_000);
  assert.equal(api.callsTo('POST', nodes).length, 0);
  assert.equal(lines.filter(({ msg }) => msg.startsWith('The node does not exist')).length, 1);
  server.node = { metadata: { name: 'n1', uid: 'u1', resourceVersion: '20' } };
  watch.push('ADDED', server.node);
  await idle(clock);
  await clusterNode.registered;
  assert.equal(patches()[0]?.status?.nodeInfo?.kubeletVersion, kubernetesVersion);
});

test('a deleted node is not registered again', async (t) => {
  const { api, start, server, clock } = await aCluster();
  const { sync, watch } = await start(t);
  await sync();
  const gone = { ...server.node!, metadata: { ...server.node!.metadata, resourceVersion: '50' } };
  server.node = null;
  watch.push('DELETED', gone);
  await clock.advance(60_000);
  assert.equal(api.callsTo('POST', nodes).length, 1);
});

test('a node is registered again in a reset cluster', async (t) => {
  const { api, start, server, clock } = await aCluster();
  const { sync, watch, clusterNode } = await start(t);
  await sync();
  Object.assign(server, { node: null, version: 1, uid: 'u2' });
  api.on('GET', service, { metadata: { uid: 'cluster-2' } });
  watch.push('DELETED', { metadata: { name: 'n1', uid: 'u1', resourceVersion: '50' } });
  await clock.advance(20_000);
  assert.equal(api.callsTo('POST', nodes).length, 2);
  assert.equal(clusterNode.store.get()?.metadata.uid, 'u2');
});
