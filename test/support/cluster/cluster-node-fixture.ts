/** A ClusterNode with an in-memory API server. */
import { computeFeatureGates } from '../../../src/main/config/feature-gates.ts';
import type { LocalNodeStatusOptions } from '../../../src/main/node/status/local-node-status.ts';
import { ClusterNode } from '../../../src/main/node/cluster-node.ts';
import type { Node } from '../../../src/main/node/node-object.ts';
import { FakeClock, settle } from '../fake-clock.ts';
import { apiError, FakeApi } from '../api-server/fake-api.ts';
import { aLocalNodeStatus } from '../pods/local-node-status.ts';
import { aLogger } from '../logger.ts';

export const nodes = '/api/v1/nodes';
export const path = `${nodes}/n1`;
export const status = `${path}/status`;
export const service = '/api/v1/namespaces/default/services/kubernetes';
export const conflict = apiError(409, 'AlreadyExists');

/** Returns an API server with at most one Node, whose resource version increases with each write, and a function that starts the ClusterNode. */
export async function aCluster(
  settings: { registerNode?: boolean; existing?: Partial<Node>; local?: Partial<LocalNodeStatusOptions>; mayReport?: Promise<void> } = {},
) {
  const [clock, api] = [new FakeClock(), new FakeApi()];
  const { local, world } = await aLocalNodeStatus({ clock, ...settings.local });
  const server = { version: 1, uid: 'u1', node: null as Node | null };
  const stored = (node: Node): Node => {
    server.version += 1;
    server.node = { ...node, metadata: { ...node.metadata, uid: server.uid, resourceVersion: String(server.version) } };
    return server.node;
  };
  const existing = settings.existing ? stored({ ...local.initialNode().node, ...settings.existing }) : null;
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
    const clusterNode = ClusterNode.start({
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
      mayReport: settings.mayReport ?? Promise.resolve(),
      events: { record: ({ object, reason }) => void events.push(`${object.kind}/${object.uid} ${reason}`) },
      onRepeatedHeartbeatFailure: () => (failures += 1),
      clock,
      logger,
      random: () => 0.5,
    });
    t.after(() => clusterNode.close());
    await idle(clock);
    const watch = await api.nextWatch(nodes);
    // Sends the initial events of a watch with sendInitialEvents.
    const sync = async () => {
      if (server.node) watch.push('ADDED', server.node);
      watch.push('BOOKMARK', {
        metadata: { resourceVersion: String(server.version), annotations: { 'k8s.io/initial-events-end': 'true' } },
      });
      await idle(clock);
    };
    return { clusterNode, watch, sync };
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
/** Lets pending work complete. A wake-up coalesces for some milliseconds. */
export async function idle(clock: FakeClock): Promise<void> {
  for (let round = 0; round < 10; round += 1) {
    await settle();
    await clock.advance(10);
  }
}
