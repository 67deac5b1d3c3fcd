import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeFeatureGates } from '../../../../src/main/config/feature-gates.ts';
import type { LocalNodeOptions } from '../../../../src/main/node/local-node.ts';
import { NodeMembership } from '../../../../src/main/node/membership.ts';
import type { Node } from '../../../../src/main/node/node-object.ts';
import type { ImageFacts } from '../../../../src/shared/contracts/images.ts';
import type { AdmissionNode } from '../../../../src/main/pods/admission/types.ts';
import { FakeClock, settle } from '../../../support/fake-clock.ts';
import { apiError, FakeApi } from '../../../support/fake-api.ts';
import { aLocalNode, localConfig } from '../../../support/local-node.ts';
import { aLogger } from '../../../support/logger.ts';

const nodes = '/api/v1/nodes';
const path = `${nodes}/n1`;
const status = `${path}/status`;
const service = '/api/v1/namespaces/default/services/kubernetes';
const conflict = apiError(409, 'AlreadyExists');

/** A server with one Node, or none, whose versions count up with each write. */
async function aCluster(
  settings: { registerNode?: boolean; existing?: Partial<Node>; local?: Partial<LocalNodeOptions>; podsSeen?: Promise<void> } = {},
) {
  const [clock, api] = [new FakeClock(), new FakeApi()];
  const { local, world } = await aLocalNode({ clock, ...settings.local });
  const server = { version: 1, uid: 'u1', node: null as Node | null };
  const stored = (node: Node): Node => {
    server.version += 1;
    server.node = { ...node, metadata: { ...node.metadata, uid: server.uid, resourceVersion: String(server.version) } };
    return server.node;
  };
  const existing = settings.existing ? stored({ ...local.initial().node, ...settings.existing }) : null;
  api.on('POST', nodes, ({ body }: { body: Node }) => (server.node ? conflict : stored(body)));
  api.on('GET', path, () => server.node ?? apiError(404, 'NotFound'));
  api.on('PATCH', status, ({ body }: { body: Partial<Node> }) => {
    if (!server.node) return apiError(404, 'NotFound');
    const { metadata } = server.node;
    const labels = { ...metadata.labels, ...body.metadata?.labels };
    const changed = body.status?.conditions ?? [];
    const conditions =
      server.node.status?.conditions?.map((old) => ({ ...old, ...changed.find(({ type }) => type === old.type) })) ?? changed;
    return stored({ ...server.node, metadata: { ...metadata, labels }, status: { ...server.node.status, ...body.status, conditions } });
  });
  api.on('GET', /leases/, { metadata: { name: 'n1' }, spec: {} }).on('PUT', /leases/, { metadata: { name: 'n1' }, spec: {} });
  api.on('GET', service, { metadata: { uid: 'cluster-1' } });
  const events: string[] = [];
  let failures = 0;
  const { logger, lines } = aLogger();
  const start = async (t: { after(end: () => Promise<void>): void }) => {
    const membership = NodeMembership.start({
      client: api,
      local,
      config: {
        registerNode: settings.registerNode ?? true,
        nodeStatusUpdateFrequency: 10_000,
        nodeStatusReportFrequency: 300_000,
        nodeLeaseDurationSeconds: 40,
      },
      featureGates: computeFeatureGates({}).gates,
      rootDir: '/nowhere',
      resetExtendedResources: async () => false,
      podsSeen: settings.podsSeen ?? Promise.resolve(),
      events: { record: ({ object, reason }) => void events.push(`${object.kind}/${object.uid} ${reason}`) },
      onRepeatedHeartbeatFailure: () => (failures += 1),
      clock,
      logger,
      random: () => 0.5,
    });
    t.after(() => membership.close());
    await idle(clock);
    const watch = await api.nextWatch(nodes);
    // The answer of the server to a watch that asks for what there is.
    const sync = async () => {
      if (server.node) watch.push('ADDED', server.node);
      watch.push('BOOKMARK', {
        metadata: { resourceVersion: String(server.version), annotations: { 'k8s.io/initial-events-end': 'true' } },
      });
      await idle(clock);
    };
    return { membership, watch, sync };
  };
  return {
    api,
    clock,
    world,
    server,
    existing,
    events,
    lines,
    start,
    failures: () => failures,
    patches: () => api.callsTo('PATCH', status).map(({ body }) => body as Partial<Node>),
  };
}
/** What is woken waits some milliseconds for more. */
async function idle(clock: FakeClock): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) {
    await settle();
    await clock.advance(10);
  }
}

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
  const images = Promise.withResolvers<readonly ImageFacts[]>();
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

test('a kubelet that starts again with nothing new writes one heartbeat and nothing else', async (t) => {
  const { patches, start, clock, existing } = await aCluster({
    existing: { metadata: { name: 'n1', labels: { foreign: 'x' } }, spec: { taints: [] } },
  });
  assert.ok(existing);
  await clock.advance(1500);
  const { sync } = await start(t);
  await sync();
  await clock.advance(60_000);
  // The first puts back labels and the annotation that this Node lacked; the second is the first heartbeat.
  assert.deepEqual(
    patches().map((patch) => Object.keys(patch).join()),
    ['metadata', 'status'],
  );
  assert.deepEqual(Object.keys(patches()[1]?.status ?? {}), ['conditions']);
});

test('a node that does not change beats each nodeStatusReportFrequency, spread after a change', async (t) => {
  const { patches, start, clock } = await aCluster({ existing: {} });
  await clock.advance(1500);
  const { sync } = await start(t);
  await sync();
  assert.equal(patches().length, 1);
  await clock.advance(280_000);
  assert.equal(patches().length, 1);
  await clock.advance(40_000);
  assert.equal(patches().length, 2);
});

test('a node whose readiness changes is told at once, and not again', async (t) => {
  const { patches, start, world, clock, events } = await aCluster();
  const { membership, sync } = await start(t);
  await sync();
  world.network = 'container runtime network not ready: x';
  membership.wake();
  await idle(clock);
  assert.deepEqual(
    patches().map(({ status: patched }) => patched?.conditions?.find(({ type }) => type === 'Ready')?.message),
    ['container runtime network not ready: x'],
  );
  await clock.advance(30_000);
  assert.equal(patches().length, 1);
  world.network = null;
  await clock.advance(10_500);
  assert.deepEqual(events.slice(-2), ['Node/n1 NodeNotReady', 'Node/n1 NodeReady']);
});

test('a node whose threads come and go is told within a second, though nobody wakes it', async (t) => {
  const { patches, start, world, clock } = await aCluster();
  const { sync } = await start(t);
  await sync();
  const readies = () => patches().flatMap((patch) => patch.status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? []);
  world.problems = ['PLEG is not healthy: x'];
  await clock.advance(1100);
  assert.deepEqual(readies(), ['False']);
  world.problems = [];
  await clock.advance(1100);
  assert.deepEqual(readies(), ['False', 'True']);
});

for (const { name, until, reports } of [
  { name: 'is not called unready before its pods were looked at', until: 'seen', reports: [] },
  { name: 'is called unready when its pods can’t be looked at', until: 'never', reports: ['False'] },
]) {
  test(`a ready node whose kubelet starts again ${name}`, async (t) => {
    const podsSeen = Promise.withResolvers<void>();
    const { patches, start, world, clock } = await aCluster({ existing: {}, podsSeen: podsSeen.promise });
    await clock.advance(1500);
    world.problems = ['PLEG is not healthy: pleg has yet to be successful'];
    const { sync } = await start(t);
    await sync();
    await clock.advance(3000);
    assert.deepEqual(patches(), []);
    if (until === 'seen') {
      world.problems = [];
      podsSeen.resolve();
    }
    await clock.advance(8000);
    assert.deepEqual(
      patches().flatMap((patch) => patch.status?.conditions?.find(({ type }) => type === 'Ready')?.status ?? []),
      reports,
    );
  });
}

test('a node that is not there is not asked for more often because its threads came back', async (t) => {
  const { api, start, server, world, clock } = await aCluster();
  const { sync, watch } = await start(t);
  await sync();
  world.problems = ['PLEG is not healthy: x'];
  await clock.advance(1100);
  const gone = { ...server.node!, metadata: { ...server.node!.metadata, resourceVersion: '50' } };
  server.node = null;
  watch.push('DELETED', gone);
  await clock.advance(1000);
  world.problems = [];
  const before = api.callsTo('GET', path).length;
  await clock.advance(20_000);
  assert.ok(api.callsTo('GET', path).length - before <= 3, `${api.callsTo('GET', path).length - before} times`);
});

test('a label that every node must have is put back', async (t) => {
  const { patches, start, server, clock } = await aCluster();
  const { sync, watch } = await start(t);
  await sync();
  server.node = {
    ...server.node!,
    metadata: { ...server.node!.metadata, resourceVersion: '9', labels: { 'kubernetes.io/os': 'windows' } },
  };
  watch.push('MODIFIED', server.node);
  await clock.advance(10_500);
  assert.equal(patches().at(-1)?.metadata?.labels?.['kubernetes.io/os'], 'linux');
});

test('who must know the newest node is given it, and so are all others', async (t) => {
  const { api, start, server } = await aCluster();
  const { sync, membership } = await start(t);
  await sync();
  server.node = { ...server.node!, metadata: { ...server.node!.metadata, resourceVersion: '9', labels: { disk: 'ssd' } } };
  // A hundred pods that came together.
  const [seen]: AdmissionNode[] = await Promise.all(Array.from({ length: 100 }, () => membership.fetch()));
  assert.equal(api.callsTo('GET', path).length, 1);
  assert.equal(seen?.metadata.labels?.['disk'], 'ssd');
  assert.equal(membership.node().metadata.labels?.['disk'], 'ssd');
});

test('a cordon and its end are told', async (t) => {
  const { events, start, server, clock } = await aCluster();
  const { sync, watch } = await start(t);
  await sync();
  for (const [version, unschedulable] of [
    ['9', true],
    ['10', false],
  ] as const) {
    server.node = { ...server.node!, metadata: { ...server.node!.metadata, resourceVersion: version }, spec: { unschedulable } };
    watch.push('MODIFIED', server.node);
    await clock.advance(10_500);
  }
  assert.deepEqual(events.slice(-2), ['Node/n1 NodeNotSchedulable', 'Node/n1 NodeSchedulable']);
});

test('a reboot is told once', async (t) => {
  const { events, start, clock, existing } = await aCluster({
    existing: { status: { nodeInfo: { bootID: 'boot-0' } as NonNullable<Node['status']>['nodeInfo'] & {} } },
  });
  assert.ok(existing);
  const { sync } = await start(t);
  await sync();
  await clock.advance(30_000);
  assert.equal(events.filter((event) => event === 'Node/n1 Rebooted').length, 1);
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
  assert.equal(lines.filter(({ msg }) => msg.startsWith('The node is not there')).length, 1);
  server.node = { metadata: { name: 'n1', uid: 'u1', resourceVersion: '20' } };
  watch.push('ADDED', server.node);
  await idle(clock);
  await membership.registered;
  assert.equal(patches()[0]?.status?.nodeInfo?.kubeletVersion, 'v1.36.3');
});

test('an old picture of the node costs one more try, from the server', async (t) => {
  const { api, start, world, clock, patches, failures } = await aCluster();
  const { membership, sync } = await start(t);
  await sync();
  world.network = 'x';
  api.once('PATCH', status, conflict);
  membership.wake();
  await idle(clock);
  await clock.advance(300);
  assert.equal(patches().length, 2);
  assert.equal(api.callsTo('GET', path).length, 1);
  assert.equal(failures(), 0);
});

test('heartbeats that fail five times are given up until the next, and connections are suspected', async (t) => {
  const { api, start, world, clock, failures, patches } = await aCluster();
  const { sync, membership } = await start(t);
  await sync();
  world.network = 'x';
  api.on('PATCH', status, apiError(0, 'Timeout'));
  membership.wake();
  await idle(clock);
  await clock.advance(8000);
  assert.equal(patches().length, 5);
  assert.equal(failures(), 4);
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
