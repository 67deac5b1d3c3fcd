/** Registration, status and lease of a node against a real API server, with NodeRestriction and as `system:node`. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { computeFeatureGates } from '../../src/main/config/feature-gates.ts';
import type { LocalNodeStatusOptions } from '../../src/main/node/index.ts';
import { ClusterNode, type Node } from '../../src/main/node/index.ts';
import { systemClock as clock } from '../../src/shared/time/clock.ts';
import { connectTo } from '../support/api-server/api-connection.ts';
import { privateCluster, sharedCluster, type TestCluster } from '../support/cluster/control-plane.ts';
import { foreignStatus } from '../support/cluster/foreign-status.ts';
import { aLocalNodeStatus, aMachine, localConfig, type FakeNodeInputs } from '../support/pods/local-node-status.ts';
import { aLogger } from '../support/logger.ts';
import { waitUntil, type TestHooks } from '../support/runtime/simulated-runtime.ts';
import { kubernetesVersion } from '../../src/shared/kubernetes/version.ts';

let cluster: TestCluster;
before(async () => {
  cluster = await sharedCluster();
});
after(() => cluster.close());

interface Member {
  readonly clusterNode: ClusterNode;
  readonly inputs: FakeNodeInputs;
  readonly events: string[];
  close(): Promise<void>;
}

async function join(to: TestCluster, nodeName: string, changes: Partial<LocalNodeStatusOptions> = {}): Promise<Member> {
  const { logger } = aLogger();
  const { client, close, renewConnections } = await connectTo(to.controlPlane.kubeletKubeconfig(nodeName), {
    nodeStatusUpdateFrequencyMs: 1000,
    nodeLeaseDurationMs: 4000,
    logger,
  });
  const { local, world: inputs } = await aLocalNodeStatus({ nodeName, clock, logger, ...changes });
  const events: string[] = [];
  const clusterNode = ClusterNode.start({
    client,
    local,
    config: { registerNode: true, nodeStatusUpdateFrequency: 1000, nodeStatusReportFrequency: 300_000, nodeLeaseDurationSeconds: 4 },
    featureGates: computeFeatureGates({}).gates,
    rootDir: '/nonexistent',
    mayReport: Promise.resolve(),
    events: { record: ({ reason }) => void events.push(reason) },
    onRepeatedHeartbeatFailure: renewConnections,
    clock,
    logger,
  });
  let isOpen = true;
  const end = async () => {
    if (!isOpen) return;
    isOpen = false;
    await clusterNode.close();
    await close();
  };
  return { clusterNode, inputs, events, close: end };
}

/** Returns a node name for this test; its Node is deleted when the test ends. */
function nodeNamed(
  t: TestHooks,
  nodeName: string,
): { readonly name: string; readonly path: string; join(changes?: Partial<LocalNodeStatusOptions>): Promise<Member> } {
  const joined: Member[] = [];
  t.after(async () => {
    for (const member of joined) await member.close();
    await cluster.runKubectl(['delete', 'node', nodeName, '--ignore-not-found']);
  });
  return {
    name: nodeName,
    path: `/api/v1/nodes/${nodeName}`,
    join: async (changes) => {
      const member = await join(cluster, nodeName, changes);
      joined.push(member);
      return member;
    },
  };
}

const ready = (node: Node) => node.status?.conditions?.find(({ type }) => type === 'Ready');
const writes = (nodeName: string) =>
  cluster.controlPlane
    .auditEvents(nodeName)
    .filter(({ objectRef, verb }) => objectRef?.resource === 'nodes' && !['get', 'list', 'watch'].includes(verb))
    .map(({ verb, objectRef, responseStatus }) => `${verb} ${objectRef?.subresource ?? ''} ${String(responseStatus?.code)}`);

test('a joining node is Ready in kubectl, with a lease that the Node owns', async (t) => {
  const node = nodeNamed(t, 'node-new');
  const { clusterNode } = await node.join({
    flags: {
      nodeIP: '',
      cloudProvider: '',
      nodeLabels: { 'topology.kubernetes.io/zone': 'z1' },
      experimentalAllocatableIgnoreEviction: false,
    },
  });
  await clusterNode.registered;
  assert.match(await cluster.kubectl('get', 'node', node.name), new RegExp(`node-new\\s+Ready\\s+<none>\\s+\\S+\\s+${kubernetesVersion}`));
  const { metadata } = await cluster.api.get<Node & { metadata: { uid: string } }>(node.path);
  const lease = await waitUntil('the node has a lease', () =>
    cluster.api.find<{ metadata: { ownerReferences: { uid: string }[] } }>(
      `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node.name}`,
    ),
  );
  assert.equal(lease.metadata.ownerReferences[0]?.uid, metadata.uid);
  assert.equal(metadata.labels?.['topology.kubernetes.io/zone'], 'z1');
});

test('a node without network is NotReady at once, and keeps fields of other writers', async (t) => {
  const node = nodeNamed(t, 'node-flaps');
  const { clusterNode, inputs, events } = await node.join();
  await clusterNode.registered;
  await cluster.kubectl('label', 'node', node.name, 'foreign=1');
  await cluster.kubectl('taint', 'node', node.name, 'foreign=1:PreferNoSchedule');
  await cluster.api.patch(`${node.path}/status`, foreignStatus(3), 'strategic-merge');
  inputs.network = 'container runtime network not ready: NetworkReady=false reason:R message:M';
  clusterNode.wake();
  const unready = await waitUntil('the node is NotReady', async () => {
    const current = await cluster.api.get<Node>(node.path);
    return ready(current)?.status === 'False' ? current : undefined;
  });
  assert.equal(ready(unready)?.message, inputs.network);
  inputs.network = null;
  clusterNode.wake();
  const recovered = await waitUntil('the node is Ready and has the foreign resource', async () => {
    const current = await cluster.api.get<Node>(node.path);
    return ready(current)?.status === 'True' && current.status?.allocatable?.['example.com/dongle'] === '3' ? current : undefined;
  });
  assert.deepEqual(
    recovered.status?.conditions?.find(({ type }) => type === 'Foreign'),
    foreignStatus(3).status.conditions[0],
  );
  assert.equal(recovered.metadata.labels?.['foreign'], '1');
  assert.ok(recovered.spec?.taints?.some(({ key }) => key === 'foreign'));
  // The events are recorded after the response to the patch: a client of the API can see the change earlier.
  const transitions = await waitUntil('both transitions are recorded', async () => {
    const recorded = events.filter((reason) => reason.endsWith('Ready'));
    return recorded.length < 2 ? undefined : recorded;
  });
  assert.deepEqual(transitions, ['NodeNotReady', 'NodeReady']);
});

test('a restarted kubelet reconciles its Node, reports a reboot, and otherwise writes one heartbeat', async (t) => {
  const node = nodeNamed(t, 'node-restarted');
  const first = await node.join();
  await first.clusterNode.registered;
  await first.close();
  // API times are whole seconds: within the same second there is no heartbeat to write.
  await clock.sleep(1000);
  const before = writes(node.name).length;
  const second = await node.join();
  await second.clusterNode.registered;
  await waitUntil('a heartbeat is written', () => writes(node.name).length >= before + 2);
  await second.close();
  assert.deepEqual(writes(node.name).slice(before), ['create  409', 'patch status 200']);
  const machine = aMachine({ bootID: 'boot-2', hugePages: [{ pageSizeKiB: 2048, pages: 4 }] });
  const third = await node.join({ machine: () => machine });
  await waitUntil('the reboot is recorded', () => third.events.includes('Rebooted'));
  const { status } = await cluster.api.get<Node>(node.path);
  assert.deepEqual(
    [status?.nodeInfo?.bootID, status?.capacity?.['hugepages-2Mi'], status?.allocatable?.['memory']],
    ['boot-2', '8Mi', '4088Mi'],
  );
});

test('a Node created by another client gets the provider ID', async (t) => {
  const node = nodeNamed(t, 'node-provided');
  await cluster.api.create('/api/v1/nodes', { metadata: { name: node.name } });
  for (const providerID of ['cloud://1', 'cloud://2']) {
    const before = writes(node.name).length;
    const member = await node.join({ config: { ...localConfig, providerID } });
    await waitUntil('a heartbeat is written', () => writes(node.name).slice(before).includes('patch status 200'));
    assert.equal((await cluster.api.get<Node>(node.path)).spec?.providerID, 'cloud://1');
    await member.close();
    // API times are whole seconds: within the same second there is no heartbeat to write.
    await clock.sleep(1000);
  }
});

test('invalid images are logged once', async (t) => {
  const node = nodeNamed(t, 'node-images');
  const bare = { repoTags: [], repoDigests: [] };
  const listImages = async () => [
    { id: 'a', sizeBytes: 7, ...bare },
    { id: 'b', sizeBytes: 0, ...bare },
  ];
  const { clusterNode } = await node.join({ listImages });
  await clusterNode.registered;
  const images = await waitUntil('the images are reported', async () => (await cluster.api.get<Node>(node.path)).status?.images);
  // The API server returns an empty list as null.
  assert.deepEqual(images, [{ names: null, sizeBytes: 7 }, { names: null }]);
  // The audit log may be later than the answers.
  await clock.sleep(1000);
  const before = writes(node.name).length;
  // The kubelet checks the lease each second.
  await clock.sleep(4000);
  assert.deepEqual(writes(node.name).slice(before), []);
});

test('a deleted lease is created again', async (t) => {
  const node = nodeNamed(t, 'node-lease');
  const { clusterNode } = await node.join();
  await clusterNode.registered;
  const path = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${node.name}`;
  const lease = await waitUntil('the node has a lease', () => cluster.api.find<{ metadata: { uid: string } }>(path));
  await cluster.api.delete(path);
  await waitUntil('the lease is created again', async () => {
    const current = await cluster.api.find<{ metadata: { uid: string } }>(path);
    return current && current.metadata.uid !== lease.metadata.uid;
  });
});

test('a deleted Node is not created again; in a new cluster the node registers', async (t) => {
  const ownCluster = await privateCluster(t, { controllerManager: false, scheduler: false });
  // Its UID identifies the cluster; the server creates it shortly after it is ready.
  await waitUntil('the API server’s service exists', () => ownCluster.api.find('/api/v1/namespaces/default/services/kubernetes'), 30_000);
  const member = await join(ownCluster, 'node-moved');
  t.after(() => member.close());
  await member.clusterNode.registered;
  const { metadata } = await ownCluster.api.get<{ metadata: { uid: string } }>('/api/v1/nodes/node-moved');
  await ownCluster.controlPlane.restartEtcdEmpty();
  const registered = await waitUntil(
    'the node is registered in the new cluster',
    () => ownCluster.api.find<{ metadata: { uid: string } }>('/api/v1/nodes/node-moved'),
    120_000,
  );
  assert.notEqual(registered.metadata.uid, metadata.uid);
  await waitUntil('the store has the new Node', () => member.clusterNode.store.get()?.metadata.uid === registered.metadata.uid, 120_000);
  await ownCluster.api.delete('/api/v1/nodes/node-moved');
  await waitUntil('the store has no Node', () => member.clusterNode.store.get() === null);
  await clock.sleep(3000);
  assert.equal(await ownCluster.api.find('/api/v1/nodes/node-moved'), undefined);
});
