import assert from 'node:assert/strict';
import { test } from 'node:test';
import { computeFeatureGates } from '../../../../../src/main/config/feature-gates.ts';
import { declaredFeatures } from '../../../../../src/main/node/status/declared-features.ts';
import { nodeImages } from '../../../../../src/main/node/status/node-system-info.ts';
import { architecture } from '../../../../../src/main/node/node-object.ts';
import { FakeClock, settle } from '../../../../support/fake-clock.ts';
import { aLocalNodeStatus, aMachine, hostNetwork, localConfig, runtimeFacts } from '../../../../support/pods/local-node-status.ts';
import { aLogger } from '../../../../support/logger.ts';
import { kubernetesVersion } from '../../../../../src/shared/kubernetes/version.ts';

const image = (id: string, sizeBytes: number, repoTags: string[] = [], repoDigests: string[] = []) => ({
  id,
  sizeBytes,
  repoTags,
  repoDigests,
});

test('the status of a new node is complete', async () => {
  const { local } = await aLocalNodeStatus({ listImages: async () => [image('a', 7, ['registry/a:1'], ['registry/a@sha256:1'])] });
  const { status } = local.initialNode().node;
  const { conditions, ...rest } = status!;
  assert.deepEqual(
    conditions?.map(({ type, status: is }) => `${type}=${is}`),
    ['MemoryPressure=False', 'DiskPressure=False', 'PIDPressure=False', 'Ready=True'],
  );
  assert.deepEqual(rest, {
    addresses: [
      { type: 'InternalIP', address: '192.0.2.7' },
      { type: 'Hostname', address: 'n1' },
    ],
    capacity: { cpu: '2', memory: '4Gi', pods: '110', 'ephemeral-storage': String(10 * 1024 ** 3) },
    allocatable: { cpu: '2', memory: '4Gi', pods: '110', 'ephemeral-storage': String(10 * 1024 ** 3) },
    nodeInfo: {
      machineID: 'machine-1',
      systemUUID: 'uuid-1',
      bootID: 'boot-1',
      kernelVersion: '6.18.0',
      osImage: 'Debian',
      containerRuntimeVersion: 'containerd://1.7.24',
      kubeletVersion: kubernetesVersion,
      runningInUserNamespace: false,
      kubeProxyVersion: '',
      operatingSystem: 'linux',
      architecture,
    },
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    images: [{ names: ['registry/a@sha256:1', 'registry/a:1'], sizeBytes: 7 }],
    runtimeHandlers: [],
    declaredFeatures: [
      'ExtendWebSocketsToKubelet',
      'InPlacePodLevelResourcesVerticalScaling',
      'InPlacePodVerticalScalingInitContainers',
      'RestartAllContainersOnContainerExits',
    ],
  });
});

test('the status has the runtime’s handlers and features, and the swap capacity', async () => {
  const handler = (name: string, can: boolean) => ({ name, recursiveReadOnlyMounts: can, userNamespaces: can });
  const info = runtimeFacts({
    handlers: [handler('runc', true), handler('', false)],
    features: { supplementalGroupsPolicy: true, userNamespacesHostNetwork: false, mountOptions: false },
  });
  const runtimeState = { info, problems: () => [], networkErrors: () => null };
  const { local } = await aLocalNodeStatus({ runtimeState, machine: () => aMachine({ swapBytes: 1024 }) });
  const { status } = local.initialNode().node;
  assert.deepEqual(status?.runtimeHandlers, [
    { name: '', features: { recursiveReadOnlyMounts: false, userNamespaces: false } },
    { name: 'runc', features: { recursiveReadOnlyMounts: true, userNamespaces: true } },
  ]);
  assert.deepEqual(status?.features, { supplementalGroupsPolicy: true });
  assert.deepEqual(status?.nodeInfo?.swap, { capacity: 1024 });
});

test('attached volumes, volumes in use that are not known yet, and unknown fields stay', async () => {
  const { local } = await aLocalNodeStatus();
  const status = { volumesAttached: [{ name: 'v', devicePath: '/d' }], volumesInUse: ['v'], phase: 'Running', future: 1 };
  const { node } = local.compute({ metadata: { name: 'n1' }, status });
  assert.deepEqual(Object.fromEntries(Object.keys(status).map((name) => [name, (node.status as Record<string, unknown>)[name]])), status);
});

test('the volumes in use are sorted', async () => {
  const { local } = await aLocalNodeStatus({ volumesInUse: () => ['b', 'a'] });
  assert.deepEqual(local.initialNode().node.status?.volumesInUse, ['a', 'b']);
});

test('a reboot causes an event with the boot ID', async () => {
  const { local } = await aLocalNodeStatus({ machine: () => aMachine({ bootID: 'boot-2' }) });
  const before = (await aLocalNodeStatus()).local.initialNode().node;
  const { hasRebooted, events } = local.compute(before);
  assert.equal(hasRebooted, true);
  assert.deepEqual(events, [{ type: 'Warning', reason: 'Rebooted', message: 'Node n1 has been rebooted, boot id: boot-2' }]);
  assert.equal((await aLocalNodeStatus()).local.compute(before).hasRebooted, false);
});

test('node() returns the same object until the runtime’s info change', async () => {
  const runtimeState = { info: runtimeFacts(), problems: () => [], networkErrors: () => null };
  const { local } = await aLocalNodeStatus({ runtimeState });
  const node = local.node();
  assert.deepEqual(node, local.initialNode().node);
  assert.equal(local.node(), node);
  runtimeState.info = runtimeFacts({ features: { supplementalGroupsPolicy: true, userNamespacesHostNetwork: false, mountOptions: false } });
  assert.deepEqual(local.node().status?.features, { supplementalGroupsPolicy: true });
});

test('the problems of a node are listed in upstream’s order', async () => {
  const { local, world } = await aLocalNodeStatus({
    healthErrors: () => ['PLEG is not healthy: asleep'],
    storageErrors: () => ['no CSINode'],
    shutdownError: () => 'node is shutting down',
  });
  world.problems = ['container runtime is down'];
  world.network = 'network state unknown';
  const ready = local.initialNode().node.status?.conditions?.at(-1);
  assert.equal(
    ready?.message,
    '[container runtime is down, PLEG is not healthy: asleep, network state unknown, no CSINode, node is shutting down]',
  );
});

test('the annotation for the cloud provider is set from --node-ip, and removed without a provider', async () => {
  const flags = { nodeIP: '192.0.2.7', cloudProvider: 'external', nodeLabels: {}, experimentalAllocatableIgnoreEviction: false };
  const inCloud = (await aLocalNodeStatus({ flags })).local.initialNode().node;
  assert.equal(inCloud.metadata.annotations?.['alpha.kubernetes.io/provided-node-ip'], '192.0.2.7');
  const outside = (await aLocalNodeStatus()).local.compute(inCloud).node;
  assert.deepEqual(outside.metadata.annotations, { 'volumes.kubernetes.io/controller-managed-attach-detach': 'true' });
});

test('an address that the host does not have is logged once and does not make the node unready', async () => {
  const { logger, lines } = aLogger();
  const flags = { nodeIP: '203.0.113.1', cloudProvider: '', nodeLabels: {}, experimentalAllocatableIgnoreEviction: false };
  const { local } = await aLocalNodeStatus({ flags, logger });
  local.initialNode();
  local.initialNode();
  assert.deepEqual(
    lines.map(({ msg }) => msg),
    ['Failed to set some node status fields'],
  );
});

test('ignored hard eviction thresholds do not reduce allocatable', async () => {
  const { local } = await aLocalNodeStatus();
  const evictionHard = { 'memory.available': '1Gi' };
  const flags = { nodeIP: '', cloudProvider: '', nodeLabels: {}, experimentalAllocatableIgnoreEviction: true };
  const config = { ...localConfig, evictionHard };
  assert.equal((await aLocalNodeStatus({ config })).local.initialNode().node.status?.allocatable?.['memory'], '3Gi');
  assert.equal((await aLocalNodeStatus({ config, flags })).local.initialNode().node.status?.allocatable?.['memory'], '4Gi');
  assert.equal(local.nodeName, 'n1');
});

test('the node keeps its images when listing fails, and a hanging runtime does not delay the status', async () => {
  const clock = new FakeClock();
  let answer: () => Promise<ReturnType<typeof image>[]> = () => Promise.reject(new Error('no runtime'));
  const { local } = await aLocalNodeStatus({ listImages: () => answer(), clock, readNetwork: async () => hostNetwork });
  const previous = { images: [{ names: ['old'], sizeBytes: 1 }] };
  assert.deepEqual(local.compute({ metadata: { name: 'n1' }, status: previous }).node.status?.images, previous.images);
  answer = () => new Promise(() => {});
  await clock.advance(30_000);
  await local.refresh();
  assert.deepEqual(local.compute({ metadata: { name: 'n1' }, status: previous }).node.status?.images, previous.images);
  await settle();
});

const images = [image('a', 1, ['small']), image('b', 9, ['t1', 't2', 't3'], ['d1', 'd2', 'd3']), image('c', 5), image('d', 5)];
test('the largest images come first, each with at most five names', () => {
  assert.deepEqual(nodeImages(images, 3), [
    { names: ['d1', 'd2', 'd3', 't1', 't2'], sizeBytes: 9 },
    { names: [], sizeBytes: 5 },
    { names: [], sizeBytes: 5 },
  ]);
  assert.equal(nodeImages(images, -1).length, 4);
  assert.deepEqual(nodeImages(images, 0), []);
});

test('declared features follow their gates, and there are none without the gate NodeDeclaredFeatures', () => {
  assert.deepEqual(declaredFeatures(computeFeatureGates({}).gates, null), [
    'ExtendWebSocketsToKubelet',
    'InPlacePodLevelResourcesVerticalScaling',
    'InPlacePodVerticalScalingInitContainers',
    'RestartAllContainersOnContainerExits',
  ]);
  assert.deepEqual(declaredFeatures(computeFeatureGates({ RestartAllContainersOnContainerExits: false }).gates, null), [
    'ExtendWebSocketsToKubelet',
    'InPlacePodLevelResourcesVerticalScaling',
    'InPlacePodVerticalScalingInitContainers',
  ]);
  const off = { enabled: (name: string) => name !== 'NodeDeclaredFeatures', all: () => [] };
  assert.equal(declaredFeatures(off, null), null);
});

test('features that need the runtime are declared with their gate and a runtime that has them', () => {
  const runtime = { features: { supplementalGroupsPolicy: true, userNamespacesHostNetwork: true, mountOptions: true } };
  for (const name of ['UserNamespacesHostNetworkSupport', 'VolumeBindMountOptions']) {
    const withGate = (enabled: boolean) => computeFeatureGates({ [name]: enabled }).gates;
    const isDeclared = (gate: boolean, from: Parameters<typeof declaredFeatures>[1]) =>
      declaredFeatures(withGate(gate), from)?.includes(name);
    assert.deepEqual([isDeclared(true, runtime), isDeclared(false, runtime), isDeclared(true, {})], [true, false, false], name);
  }
});
