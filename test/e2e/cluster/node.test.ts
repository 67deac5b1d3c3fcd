/** The Node object of a real cluster: what the kubelet reports, keeps of other writers, and does under faults. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Node } from '../../../src/main/node/index.ts';
import { computeVersionSkew } from '../../../src/main/node/registration/version-skew.ts';
import { milliValue, value } from '../../../src/shared/kubernetes/quantity.ts';
import { TestClusterNode, conditionOf } from '../../support/cluster/cluster-node.ts';
import { sharedCluster } from '../../support/cluster/control-plane.ts';
import { foreignStatus } from '../../support/cluster/foreign-status.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { kubernetesVersion } from '../../../src/shared/kubernetes/version.ts';

const nodeName = 'cluster-node';
type Lease = {
  metadata: { uid: string; ownerReferences: { kind: string; name: string; uid: string }[] };
  spec: { renewTime: string; holderIdentity: string };
};
type RealNode = Node & { metadata: { uid: string; resourceVersion: string } };

describe('a node of a cluster', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start(nodeName, {
      config: {
        nodeStatusUpdateFrequency: '1s',
        nodeStatusReportFrequency: '5m',
        nodeLeaseDurationSeconds: 4,
        systemReserved: { cpu: '200m', memory: '256Mi' },
        kubeReserved: { cpu: '100m', memory: '128Mi' },
        // 100% is no threshold.
        evictionHard: { 'memory.available': '100Mi', 'nodefs.available': '100%' },
        maxPods: 42,
        registerWithTaints: [{ key: 'dedicated', value: 'tests', effect: 'PreferNoSchedule' }],
        providerID: 'example://cluster-node',
      },
      flags: ['--node-labels', 'tier=test,topology.kubernetes.io/zone=z1'],
    });
  });
  after(() => node?.destroy());

  const get = () => node.api.get<RealNode>(node.nodePath);
  const until = (what: string, condition: (node: RealNode) => boolean) =>
    waitUntil(
      `the node ${what}`,
      async () => {
        const current = await get();
        return condition(current) ? current : null;
      },
      60_000,
    );
  const leasePath = `/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/${nodeName}`;

  test('has its configured labels, taints and addresses', async () => {
    const { metadata, spec, status } = await until('has no lifecycle taint', ({ spec: current }) => current?.taints?.length === 1);
    for (const [label, wanted] of Object.entries({
      'kubernetes.io/hostname': nodeName,
      'kubernetes.io/os': 'linux',
      'beta.kubernetes.io/os': 'linux',
      tier: 'test',
      'topology.kubernetes.io/zone': 'z1',
    })) {
      assert.equal(metadata.labels?.[label], wanted, label);
    }
    assert.deepEqual(spec?.taints, [{ key: 'dedicated', value: 'tests', effect: 'PreferNoSchedule' }]);
    assert.equal(spec?.providerID, 'example://cluster-node');
    assert.equal(metadata.annotations?.['volumes.kubernetes.io/controller-managed-attach-detach'], 'true');
    assert.ok(status?.addresses?.some(({ type }) => type === 'InternalIP'));
    assert.ok(status?.addresses?.some(({ type, address }) => type === 'Hostname' && address === nodeName));
    assert.match(
      await node.kubectl('get', 'node', nodeName, '--no-headers'),
      new RegExp(`cluster-node\\s+Ready\\s+<none>\\s+\\S+\\s+${kubernetesVersion}`),
    );
  });

  test('allocatable excludes reservations and eviction thresholds', async () => {
    const { status } = await get();
    const { capacity, allocatable } = status ?? {};
    assert.equal(milliValue(capacity?.cpu) - milliValue(allocatable?.cpu), 300);
    assert.equal(value(capacity?.memory) - value(allocatable?.memory), (256 + 128 + 100) * 1024 ** 2);
    assert.deepEqual([status?.capacity?.pods, status?.allocatable?.pods], ['42', '42']);
    assert.equal(value(allocatable?.['ephemeral-storage']), value(capacity?.['ephemeral-storage']));
    assert.equal(status?.conditions?.find(({ type }) => type === 'DiskPressure')?.status, 'False');
  });

  test('reports its versions, images, runtime handlers and port', async () => {
    const { status } = await until('shows its images', ({ status: current }) => (current?.images?.length ?? 0) >= 2);
    const { nodeInfo, daemonEndpoints, images, runtimeHandlers, features } = status as unknown as {
      nodeInfo: Record<string, string>;
      daemonEndpoints: { kubeletEndpoint: { Port: number } };
      images: { names: string[]; sizeBytes: number }[];
      runtimeHandlers?: { name: string }[];
      features?: { supplementalGroupsPolicy?: boolean };
    };
    assert.match(nodeInfo.containerRuntimeVersion ?? '', /^containerd:\/\/1\.7\.24/);
    assert.deepEqual([nodeInfo.kubeletVersion, nodeInfo.operatingSystem], [kubernetesVersion, 'linux']);
    for (const field of ['kernelVersion', 'osImage', 'architecture', 'bootID', 'machineID', 'systemUUID'])
      assert.ok(nodeInfo[field] !== undefined, field);
    assert.ok(daemonEndpoints.kubeletEndpoint.Port > 0);
    assert.ok(status?.declaredFeatures?.includes('RestartAllContainersOnContainerExits'), String(status?.declaredFeatures));
    assert.ok(images.some(({ names, sizeBytes }) => names.includes('local.example/busybox:1') && sizeBytes > 100_000));
    assert.ok(images.every(({ sizeBytes }, i) => i === 0 || sizeBytes <= images[i - 1]!.sizeBytes));
    // containerd reports its handlers since 2.0.
    const runtimeStatus = await node.node.cri.runtime.call('status', {}, { deadlineMs: 10_000 });
    assert.deepEqual(
      new Set((runtimeHandlers ?? []).map(({ name }) => name)),
      new Set(runtimeStatus.runtimeHandlers.map(({ name }) => name)),
    );
    assert.notEqual(features?.supplementalGroupsPolicy, true);
  });

  test('reports its conditions with heartbeat and transition times', async () => {
    const { status } = await get();
    const types = (status?.conditions ?? []).map(({ type, status: state, reason }) => `${type}=${state} ${reason}`);
    for (const wanted of [
      'MemoryPressure=False KubeletHasSufficientMemory',
      'DiskPressure=False KubeletHasNoDiskPressure',
      'PIDPressure=False KubeletHasSufficientPID',
      'Ready=True KubeletReady',
    ]) {
      assert.ok(types.includes(wanted), `${wanted} in ${types.join(', ')}`);
    }
    for (const { lastHeartbeatTime, lastTransitionTime } of status?.conditions ?? []) {
      assert.ok(Date.parse(String(lastHeartbeatTime)) >= Date.parse(String(lastTransitionTime)));
    }
  });

  test('renews its lease, and creates it again after a deletion', async () => {
    const { metadata } = await get();
    const lease = await waitUntil('the lease exists', () => node.api.find<Lease>(leasePath), 30_000);
    assert.deepEqual(
      lease.metadata.ownerReferences.map(({ kind, name, uid }) => [kind, name, uid]),
      [['Node', nodeName, metadata.uid]],
    );
    assert.equal(lease.spec.holderIdentity, nodeName);
    await waitUntil(
      'the lease is renewed',
      async () => (await node.api.get<Lease>(leasePath)).spec.renewTime > lease.spec.renewTime,
      30_000,
    );
    await node.api.delete(leasePath);
    const recreated = await waitUntil('the lease is created again', () => node.api.find<Lease>(leasePath), 30_000);
    assert.notEqual(recreated.metadata.uid, lease.metadata.uid);
    assert.equal(recreated.metadata.ownerReferences[0]?.uid, metadata.uid);
  });

  test('writes no status while nothing changes', async () => {
    const writes = () => node.requests(({ objectRef, verb }) => objectRef?.resource === 'nodes' && verb === 'patch').length;
    const renewals = () => node.requests(({ objectRef, verb }) => objectRef?.resource === 'leases' && verb === 'update').length;
    const [writesBefore, renewalsBefore] = [writes(), renewals()];
    // The kubelet checks the status and renews the lease each second.
    await waitUntil('the lease was renewed five times', () => renewals() >= renewalsBefore + 5, 60_000);
    assert.ok(writes() - writesBefore <= 1, `${writes() - writesBefore} writes`);
  });

  test('keeps labels, annotations, taints, conditions and resources of other writers', async () => {
    await node.kubectl('label', 'node', nodeName, 'foreign=1');
    await node.kubectl('annotate', 'node', nodeName, 'foreign=2');
    await node.kubectl('taint', 'node', nodeName, 'foreign=3:PreferNoSchedule');
    await node.api.patch(`${node.nodePath}/status`, foreignStatus(2), 'strategic-merge');
    await until('has the foreign resource', ({ status }) => status?.allocatable?.['example.com/dongle'] === '2');
    await node.restartKubelet();
    await node.create('after-foreign');
    await node.untilRunning('after-foreign');
    const { metadata, spec, status } = await get();
    assert.deepEqual([metadata.labels?.foreign, metadata.annotations?.foreign], ['1', '2']);
    assert.deepEqual(spec?.taints?.map(({ key }) => key).toSorted(), ['dedicated', 'foreign']);
    assert.deepEqual(
      status?.conditions?.find(({ type }) => type === 'Foreign'),
      foreignStatus(2).status.conditions[0],
    );
  });

  test('restores its own labels when it starts', async () => {
    await node.kubectl('label', 'node', nodeName, '--overwrite', 'kubernetes.io/os=plan9');
    await node.restartKubelet();
    await until('has its own label again', ({ metadata }) => metadata.labels?.['kubernetes.io/os'] === 'linux');
  });

  test('stays Ready while its kubelet restarts', async () => {
    const readyOf = ({ status }: RealNode) => status?.conditions?.find(({ type }) => type === 'Ready');
    const before = readyOf(await get());
    // Heartbeats are whole seconds: a second one within the same second is invisible.
    await sleep(Date.parse(String(before?.lastHeartbeatTime)) + 1000 - Date.now());
    await node.restartKubelet();
    const after = await until(
      'has another heartbeat',
      (current) => String(readyOf(current)?.lastHeartbeatTime) > String(before?.lastHeartbeatTime),
    );
    assert.deepEqual([readyOf(after)?.status, readyOf(after)?.lastTransitionTime], ['True', before?.lastTransitionTime]);
  });

  test('lists the volumes that another kubelet has left while one is mounted, and none afterwards', async () => {
    const folder = createHash('sha256').update('volume').digest('hex');
    const globalMount = join(node.node.rootDir, 'plugins/kubernetes.io/csi/csi.example.org', folder, 'globalmount');
    mkdirSync(globalMount, { recursive: true });
    execFileSync('mount', ['-t', 'tmpfs', 'tmpfs', globalMount]);
    let isMounted = true;
    const unmount = () => {
      if (isMounted) execFileSync('umount', [globalMount]);
      isMounted = false;
    };
    try {
      const left = ['kubernetes.io/csi/csi.example.org^volume'];
      await node.api.patch(`${node.nodePath}/status`, { status: { volumesInUse: left } }, 'strategic-merge');
      const renewals = () => node.requests(({ objectRef, verb }) => objectRef?.resource === 'leases' && verb === 'update').length;
      const before = renewals();
      // The status is checked as often as the lease is renewed.
      await waitUntil('the lease was renewed three times', () => renewals() >= before + 3, 60_000);
      assert.deepEqual((await get()).status?.volumesInUse, left);
      unmount();
      await until('lists no volume', ({ status }) => (status?.volumesInUse ?? []).length === 0);
    } finally {
      unmount();
    }
  });

  test('is warned of its API server exactly when the version of that is not supported', async () => {
    const { gitVersion } = await node.api.get<{ readonly gitVersion: string }>('/version');
    const skew = computeVersionSkew(gitVersion);
    if (skew !== null) await node.untilEvent(nodeName, 'VersionSkew', /older than this kubelet/, 'default');
    const found = (await node.events(nodeName, 'default')).filter(({ reason }) => reason === 'VersionSkew');
    assert.deepEqual(new Set(found.map(({ message }) => message)), new Set(skew === null ? [] : [skew]));
  });

  test('has events when it is cordoned', async () => {
    await node.kubectl('cordon', nodeName);
    await node.untilEvent(nodeName, 'NodeNotSchedulable', /^Node cluster-node status is now: NodeNotSchedulable$/, 'default');
    await node.kubectl('uncordon', nodeName);
    await node.untilEvent(nodeName, 'NodeSchedulable', /^Node cluster-node status is now: NodeSchedulable$/, 'default');
    await node.untilEvent(nodeName, 'Starting', /^Starting kubelet\.$/, 'default');
    assert.match(await node.kubectl('describe', 'node', nodeName), /NodeSchedulable/);
  });

  test('is NotReady with a reason while its runtime is down, and keeps its pods', async () => {
    await node.create('steady');
    const pod = await node.untilRunning('steady');
    await node.node.containerd.stop('SIGKILL');
    const { status } = await until('is not ready', ({ status: current }) => conditionOf(current, 'Ready') === 'False');
    const ready = status?.conditions?.find(({ type }) => type === 'Ready');
    assert.equal(ready?.reason, 'KubeletNotReady');
    assert.match(ready?.message ?? '', /container runtime|PLEG|runtime/);
    await node.node.startContainerd();
    await until('is ready again', ({ status: current }) => conditionOf(current, 'Ready') === 'True');
    await node.untilEvent(nodeName, 'NodeNotReady', /./, 'default');
    await node.create('after-outage');
    await node.untilRunning('after-outage');
    const current = await node.until(
      'steady',
      'is ready',
      ({ status: { conditions } = {} }) => conditions?.some(({ type, status: state }) => type === 'Ready' && state === 'True') === true,
    );
    assert.equal(current.status?.containerStatuses?.[0]?.containerID, pod.status?.containerStatuses?.[0]?.containerID);
  });

  test('registers again at the next start when its object was deleted', async () => {
    const { metadata } = await get();
    await node.node.stopKubelet();
    await node.api.delete(node.nodePath);
    await node.node.startKubelet();
    const recreated = await waitUntil('the Node is registered again', () => node.api.find<RealNode>(node.nodePath), 60_000);
    assert.notEqual(recreated.metadata.uid, metadata.uid);
    await node.untilReady();
    assert.equal((await get()).metadata.labels?.tier, 'test');
    await node.create('after-registration');
    await node.untilRunning('after-registration');
  });
});

test('with an external cloud provider a node has the taint and the provided address', async (t) => {
  const ip = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === 'IPv4' && !internal)?.address;
  assert.ok(ip !== undefined);
  const node = await TestClusterNode.start('cluster-cloud', { flags: ['--cloud-provider', 'external', '--node-ip', ip] });
  t.after(() => node.destroy());
  const { metadata, spec } = await node.api.get<RealNode>(node.nodePath);
  assert.equal(metadata.annotations?.['alpha.kubernetes.io/provided-node-ip'], ip);
  assert.ok(spec?.taints?.some(({ key, effect }) => key === 'node.cloudprovider.kubernetes.io/uninitialized' && effect === 'NoSchedule'));
});

test('with registerNode: false a node joins when another client creates its Node', async (t) => {
  const starting = TestClusterNode.start('cluster-unregistered', { config: { registerNode: false } });
  const cluster = await sharedCluster();
  t.after(() => cluster.close());
  await cluster.api.create('/api/v1/nodes', { metadata: { name: 'cluster-unregistered' } });
  const node = await starting;
  t.after(() => node.destroy());
  await node.create('web');
  await node.untilRunning('web');
});
