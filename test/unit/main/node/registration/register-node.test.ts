/** How a node comes into its cluster, and what its end there means. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node } from '../../../../../src/main/node/node-object.ts';
import type { RuntimeImage } from '../../../../../src/shared/contracts/images.ts';
import { apiError } from '../../../../support/fake-api.ts';
import { localConfig } from '../../../../support/local-node-status.ts';
import { aCluster, idle, nodes, path, service } from '../../../../support/cluster-node-fixture.ts';

test('a new node is made with its whole status, and says that it has started', async (t) => {
  const { api, events, patches, start } = await aCluster();
  const { membership, sync } = await start(t);
  await membership.registered;
  await sync();
  const [created] = api.callsTo('POST', nodes).map(({ body }) => body as Node);
  assert.equal(created?.status?.nodeInfo?.bootID, 'boot-1');
  assert.deepEqual(
    events,
    ['Starting', 'NodeHasSufficientMemory', 'NodeHasNoDiskPressure', 'NodeHasSufficientPID'].map((reason) => `Node/n1 ${reason}`),
  );
  assert.equal(patches().length, 0);
  assert.equal(membership.node().metadata.uid, 'u1');
  assert.deepEqual(membership.hostIPs(), ['192.0.2.7']);
});

test('a node is registered though its runtime does not tell its images yet, and says them when it does', async (t) => {
  const images = Promise.withResolvers<readonly RuntimeImage[]>();
  const { api, start, patches } = await aCluster({ local: { listImages: () => images.promise } });
  const { membership, sync } = await start(t);
  await membership.registered;
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

test('a server that is away is asked to register with growing waits, and the events of the node come once', async (t) => {
  const { api, clock, start, events } = await aCluster();
  api
    .once('POST', nodes, apiError(0, 'Unreachable'))
    .once('POST', nodes, apiError(503, 'ServiceUnavailable'))
    .once('POST', nodes, apiError(500, 'InternalError'));
  const { membership } = await start(t);
  await clock.advance(2000);
  await membership.registered;
  assert.equal(api.callsTo('POST', nodes).length, 4);
  assert.equal(events.filter((event) => event.endsWith('NodeHasSufficientMemory')).length, 1);
});

test('a kubelet that may not make its node takes the one that is there', async (t) => {
  const { api, start } = await aCluster({ existing: {} });
  api.on('POST', nodes, apiError(403, 'Forbidden'));
  const { membership } = await start(t);
  await membership.registered;
});

test('a node that is there without a provider ID is given the one of the settings, and joins also where that is refused', async (t) => {
  for (const answer of [{ metadata: { name: 'n1', uid: 'u1', resourceVersion: '9' } }, apiError(403, 'Forbidden')]) {
    const { api, start } = await aCluster({ existing: { spec: {} }, local: { config: { ...localConfig, providerID: 'cloud://1' } } });
    api.on('PATCH', path, answer);
    const { membership } = await start(t);
    await membership.registered;
    assert.deepEqual(
      api.callsTo('PATCH', path).map(({ body }) => body),
      [{ spec: { providerID: 'cloud://1' } }],
    );
  }
});

test('a provider ID that a node has is left to it', async (t) => {
  const { api, start } = await aCluster({
    existing: { spec: { providerID: 'cloud://0' } },
    local: { config: { ...localConfig, providerID: 'cloud://1' } },
  });
  const { membership } = await start(t);
  await membership.registered;
  assert.deepEqual(api.callsTo('PATCH', path), []);
});

test('a kubelet that is not to register waits for its node', async (t) => {
  const { api, start, server, clock, patches, lines } = await aCluster({ registerNode: false });
  const { membership, sync, watch } = await start(t);
  await sync();
  await clock.advance(60_000);
  assert.equal(api.callsTo('POST', nodes).length, 0);
  assert.equal(lines.filter(({ msg }) => msg.startsWith('The node does not exist')).length, 1);
  server.node = { metadata: { name: 'n1', uid: 'u1', resourceVersion: '20' } };
  watch.push('ADDED', server.node);
  await idle(clock);
  await membership.registered;
  assert.equal(patches()[0]?.status?.nodeInfo?.kubeletVersion, 'v1.36.3');
});

test('a node that was deleted stays deleted', async (t) => {
  const { api, start, server, clock } = await aCluster();
  const { sync, watch } = await start(t);
  await sync();
  const gone = { ...server.node!, metadata: { ...server.node!.metadata, resourceVersion: '50' } };
  server.node = null;
  watch.push('DELETED', gone);
  await clock.advance(60_000);
  assert.equal(api.callsTo('POST', nodes).length, 1);
});

test('a node is registered again in a cluster that began anew', async (t) => {
  const { api, start, server, clock } = await aCluster();
  const { sync, watch, membership } = await start(t);
  await sync();
  Object.assign(server, { node: null, version: 1, uid: 'u2' });
  api.on('GET', service, { metadata: { uid: 'cluster-2' } });
  watch.push('DELETED', { metadata: { name: 'n1', uid: 'u1', resourceVersion: '50' } });
  await clock.advance(20_000);
  assert.equal(api.callsTo('POST', nodes).length, 2);
  assert.equal(membership.store.get()?.metadata.uid, 'u2');
});
