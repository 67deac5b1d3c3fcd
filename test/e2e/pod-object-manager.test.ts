/** Volumes with content from a real API server, read with a node's credentials, written as root below a temporary root directory. */
import { podSyncGatesWith } from '../support/pods/pod-sync-gates.ts';
import assert from 'node:assert/strict';
import { mkdtemp, readFile, realpath, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import type { ApiConnection } from '../../src/main/api/index.ts';
import { PodObjectManager } from '../../src/main/objects/index.ts';
import type { Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../src/shared/kubernetes/ids.ts';
import { systemClock as clock } from '../../src/shared/time/clock.ts';
import { HelperClient } from '../../src/shared/helper-client/index.ts';
import { readEnvironmentObjects, makeEnvironment } from '../../src/workers/pod-sync/pod/runtime-config/index.ts';
import { PodVolumes } from '../../src/workers/pod-sync/pod/volumes/index.ts';
import { connectTo } from '../support/api-server/api-connection.ts';
import { sharedCluster, type TestCluster } from '../support/cluster/control-plane.ts';
import { aLogger } from '../support/logger.ts';
import { aNode, someSettings } from '../support/pods/runtime-config-inputs.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const nodeName = 'objects-node';
const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('volumes from the API server', () => {
  const { logger } = aLogger();
  const helper = new HelperClient({ logger });
  const woken = new Set<PodUID>();
  let cluster: TestCluster;
  let connection: ApiConnection;
  let objectManager: PodObjectManager;
  let rootDir: string;
  let volumes: PodVolumes;

  before(async () => {
    rootDir = await realpath(await mkdtemp(join(tmpdir(), 'pod-objects-')));
    volumes = new PodVolumes({
      rootDir,
      clusterDomain: 'cluster.local',
      featureGates: podSyncGatesWith(),
      helper,
      logger,
      selinuxEnabled: false,
    });
    cluster = await sharedCluster();
    await cluster.api.create('/api/v1/nodes', { metadata: { name: nodeName } });
    connection = await connectTo(cluster.controlPlane.kubeletKubeconfig(nodeName), { logger });
    objectManager = PodObjectManager.start({
      client: connection.client,
      strategy: 'Watch',
      syncFrequencyMs: 60_000,
      objectTTLSeconds: () => undefined,
      projectsTrustBundles: false,
      certificates: null,
      isRunning: () => false,
      onChanged: (uids) => uids.forEach((uid) => woken.add(uid)),
      clock,
      logger,
    });
  });
  after(async () => {
    await objectManager?.close();
    await connection?.close();
    await cluster?.api.delete(`/api/v1/nodes/${nodeName}`).catch(() => {});
    await cluster?.close();
    await helper.close();
    await rm(rootDir, { recursive: true, force: true });
  });

  async function createPod(t: TestContext, namespace: string, spec: Partial<PodSpec> = {}): Promise<Pod> {
    const { containers = [], ...rest } = spec;
    const pod = await cluster.api.create<Pod>(`/api/v1/namespaces/${namespace}/pods`, {
      metadata: { name: 'web' },
      spec: { nodeName, ...rest, containers: [{ name: 'app', image: 'local.example/app:1', ...containers[0] }] },
    });
    t.after(async () => {
      objectManager.unregisterPod(podUID(pod));
      await volumes.unmountVolumes(podUID(pod));
      await volumes.removePodDirectory(podUID(pod));
    });
    objectManager.registerPod(pod);
    return pod;
  }
  /** Mounts the pod's volumes, and returns the errors of failed ones. */
  const mountVolumes = async (pod: Pod) => {
    const failures = await volumes.mountVolumes({ pod, node: aNode, requestPodObjects: (refs) => objectManager.get(refs, pod) });
    return failures.map(({ state, message }) => `${state}: ${message}`);
  };
  const dirOf = (pod: Pod, plugin: string, volume: string) =>
    join(rootDir, 'pods', pod.metadata.uid, 'volumes', `kubernetes.io~${plugin}`, volume);

  test('the default token volume has a token of the pod, the root CA and the namespace', async (t) => {
    const namespace = await cluster.namespace(t);
    const pod = await createPod(t, namespace);
    const startedAtMs = performance.now();
    assert.deepEqual(await mountVolumes(pod), []);
    const tookMs = performance.now() - startedAtMs;
    const [volume] = pod.spec.volumes ?? [];
    const dir = dirOf(pod, 'projected', volume?.name ?? '');
    const token = await readFile(join(dir, 'token'), 'utf8');
    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as {
      sub: string;
      'kubernetes.io': { pod: { uid: string } };
    };
    assert.deepEqual([claims.sub, claims['kubernetes.io'].pod.uid], [`system:serviceaccount:${namespace}:default`, pod.metadata.uid]);
    assert.match(await readFile(join(dir, 'ca.crt'), 'utf8'), /BEGIN CERTIFICATE/);
    assert.equal(await readFile(join(dir, 'namespace'), 'utf8'), namespace);
    assert.equal((await stat(join(dir, 'token'))).mode & 0o777, 0o644);
    t.diagnostic(`mounted in ${tookMs.toFixed(0)} ms`);
  });

  test('a changed secret wakes its pod, and its files change', async (t) => {
    const namespace = await cluster.namespace(t);
    const path = `/api/v1/namespaces/${namespace}/secrets`;
    await cluster.api.create(path, { metadata: { name: 's' }, data: { a: base64('one') } });
    const pod = await createPod(t, namespace, {
      containers: [{ name: 'app', volumeMounts: [{ name: 's', mountPath: '/s' }] }],
      volumes: [{ name: 's', secret: { secretName: 's' } }],
    });
    assert.deepEqual(await mountVolumes(pod), []);
    woken.clear();
    // The watch begins after the first response.
    await waitUntil('the pod is woken', async () => {
      await cluster.api.patch(`${path}/s`, { data: { a: base64('two') } });
      return woken.has(podUID(pod));
    });
    assert.deepEqual(await mountVolumes(pod), []);
    assert.equal(await readFile(join(dirOf(pod, 'secret', 's'), 'a'), 'utf8'), 'two');
    await cluster.api.delete(`${path}/s`);
    await waitUntil('the mount reports the missing secret', async () => (await mountVolumes(pod)).length > 0);
    assert.deepEqual(await mountVolumes(pod), ['outdated: MountVolume.SetUp failed for volume "s" : secret "s" not found']);
    assert.equal(await readFile(join(dirOf(pod, 'secret', 's'), 'a'), 'utf8'), 'two');
  });

  test('a pod that waits for a config map is woken when it is created', async (t) => {
    const namespace = await cluster.namespace(t);
    const pod = await createPod(t, namespace, {
      automountServiceAccountToken: false,
      containers: [{ name: 'app', volumeMounts: [{ name: 'c', mountPath: '/c' }] }],
      volumes: [{ name: 'c', configMap: { name: 'late' } }],
    });
    assert.deepEqual(await mountVolumes(pod), ['missing: MountVolume.SetUp failed for volume "c" : configmap "late" not found']);
    woken.clear();
    await cluster.api.create(`/api/v1/namespaces/${namespace}/configmaps`, { metadata: { name: 'late' }, data: { k: 'v' } });
    await waitUntil('the pod is woken', () => woken.has(podUID(pod)));
    assert.deepEqual(await mountVolumes(pod), []);
    assert.equal(await readFile(join(dirOf(pod, 'configmap', 'c'), 'k'), 'utf8'), 'v');
  });

  test('a secret of another node’s pod is refused', async (t) => {
    const namespace = await cluster.namespace(t);
    await cluster.api.create(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name: 'foreign' }, data: {} });
    const stranger: Pod = {
      metadata: { name: 'stranger', namespace, uid: 'stranger' },
      spec: { containers: [{ name: 'app', envFrom: [{ secretRef: { name: 'foreign' } }] }] },
    };
    const [result] = await objectManager.get([{ kind: 'Secret', namespace, name: 'foreign' }], stranger);
    objectManager.unregisterPod(podUID(stranger));
    assert.ok(result?.outcome === 'failed');
    assert.equal(result.failure.message, 'failed to sync secret cache: timed out waiting for the condition');
  });

  test('the environment has the API server’s address and referenced keys', async (t) => {
    const namespace = await cluster.namespace(t);
    await cluster.api.create(`/api/v1/namespaces/${namespace}/secrets`, { metadata: { name: 's' }, data: { password: base64('geheim') } });
    const pod = await createPod(t, namespace, {
      containers: [{ name: 'app', env: [{ name: 'PASSWORD', valueFrom: { secretKeyRef: { name: 's', key: 'password' } } }] }],
    });
    const container = pod.spec.containers[0]!;
    const objects = await readEnvironmentObjects((refs) => objectManager.get(refs, pod), pod, container);
    const env = makeEnvironment({ pod, container, node: aNode, settings: someSettings, podIPs: [], objects });
    const variables = new Map(env.map(({ name, value }) => [name, value]));
    assert.equal(variables.get('PASSWORD'), 'geheim');
    assert.match(variables.get('KUBERNETES_SERVICE_HOST') ?? '', /^10\.96\.0\.1$/);
    assert.equal(variables.get('KUBERNETES_SERVICE_PORT_HTTPS'), '443');
  });
});
