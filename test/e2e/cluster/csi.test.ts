/** Pods with claims of a CSI driver that really mounts, under the Node authorizer. */
import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { aBusybox } from '../../support/kubelet/test-node.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { TestAttacher } from '../../support/csi-driver/attacher.ts';
import { createBoundClaim } from '../../support/csi-driver/claims.ts';
import { ClusterCsiDriver } from '../../support/csi-driver/cluster-csi-driver.ts';
import { parseMountInfo } from '../../support/csi-driver/mounted.ts';
import { NodeVolumesWatch } from '../../support/csi-driver/node-volumes-watch.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const nodeName = 'cluster-csi';
const driverName = 'test.csi.example';
/** Its volumes are attached before they are staged. */
const attachingName = 'attaching.csi.example';
const statsCall = 'NodeGetVolumeStats';

interface CsiNode {
  readonly metadata: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string; readonly uid: string }[];
  };
  readonly spec: {
    readonly drivers:
      | null
      | readonly {
          readonly name: string;
          readonly nodeID: string;
          readonly topologyKeys: unknown;
          readonly allocatable?: unknown;
        }[];
  };
}
interface Node {
  readonly metadata: {
    readonly uid: string;
    readonly annotations: Readonly<Record<string, string>>;
    readonly labels: Readonly<Record<string, string>>;
  };
  readonly status: { readonly volumesInUse?: readonly string[] };
}

interface Summary {
  readonly pods: readonly {
    readonly podRef: { readonly name: string };
    readonly volume?: readonly { readonly name: string; readonly capacityBytes?: number; readonly pvcRef?: object }[];
  }[];
}

describe('CSI volumes', () => {
  let node: TestClusterNode;
  let initial: CsiNode | undefined;
  let driver: ClusterCsiDriver;
  let attaching: ClusterCsiDriver;
  let attacher: TestAttacher;
  const csiNodePath = `/apis/storage.k8s.io/v1/csinodes/${nodeName}`;
  const nodeID = async () => (await node.api.get<Node>(node.nodePath)).metadata.annotations['csi.volume.kubernetes.io/nodeid'];
  const withClaim = (claimName: string, sh?: string, readOnly = false) => ({
    terminationGracePeriodSeconds: 1,
    containers: [aBusybox({ ...(sh !== undefined && { sh }), volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
    volumes: [{ name: 'data', persistentVolumeClaim: { claimName, readOnly } }],
  });
  const mounts = () =>
    parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')).filter(
      (point) => point.includes('csi') && point.startsWith(node.node.rootDir),
    );
  const callsFor = (volume: string) =>
    driver
      .journal()
      .filter(({ volumeID, method }) => volumeID === volume && method !== statsCall)
      .map(({ method }) => method);

  before(async () => {
    node = await TestClusterNode.start(nodeName);
    initial = await node.api.find<CsiNode>(csiNodePath);
    const modes = { podInfoOnMount: true, volumeLifecycleModes: ['Persistent', 'Ephemeral'] };
    driver = await ClusterCsiDriver.create(
      node,
      driverName,
      { attachRequired: false, ...modes },
      {
        nodeID: 'id-of-node',
        maxVolumesPerNode: 7,
        topology: { 'topology.test.csi.example/zone': 'a' },
        capabilities: ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_STATS'],
      },
    );
    attaching = await ClusterCsiDriver.create(
      node,
      attachingName,
      { attachRequired: true, nodeAllocatableUpdatePeriodSeconds: 3600 },
      { nodeID: 'id-for-attacher', maxVolumesPerNode: 1 },
    );
    attacher = new TestAttacher(node.api, attachingName, nodeName);
    await driver.start();
  });
  after(async () => {
    await node?.kubectl('delete', 'pods', '--all', '--grace-period=1', '--wait=true').catch(() => {});
    await driver?.destroy();
    await attaching?.destroy();
    await node?.destroy();
  });

  test('the CSINode of a node that is ready exists, with the migrated plugins, before a driver has registered', () => {
    assert.deepEqual(initial?.spec.drivers ?? [], []);
    assert.match(initial?.metadata.annotations?.['storage.alpha.kubernetes.io/migrated-plugins'] ?? '', /kubernetes\.io\/aws-ebs,/);
  });

  test('a driver is in the CSINode and on the Node, and knows that it is registered', async () => {
    await waitUntil('the CSINode has the driver', async () => ((await node.api.find<CsiNode>(csiNodePath))?.spec.drivers?.length ?? 0) > 0);
    const { metadata, spec } = await node.api.get<CsiNode>(csiNodePath);
    const { metadata: ofNode } = await node.api.get<Node>(node.nodePath);
    assert.deepEqual(
      metadata.ownerReferences?.map(({ kind, name, uid }) => ({ kind, name, uid })),
      [{ kind: 'Node', name: nodeName, uid: ofNode.uid }],
    );
    assert.deepEqual(spec.drivers, [
      { name: driverName, nodeID: 'id-of-node', topologyKeys: ['topology.test.csi.example/zone'], allocatable: { count: 7 } },
    ]);
    assert.equal(ofNode.annotations['csi.volume.kubernetes.io/nodeid'], JSON.stringify({ [driverName]: 'id-of-node' }));
    assert.equal(ofNode.labels['topology.test.csi.example/zone'], 'a');
    await waitUntil('the driver is notified', () => driver.journal().some(({ method }) => method === 'NotifyRegistrationStatus'));
    assert.deepEqual(
      driver
        .journal()
        .filter(({ method }) => method === 'NotifyRegistrationStatus')
        .map(({ request }) => request),
      [{ pluginRegistered: true, error: '' }],
    );
  });

  test("a pod's data is in its volume, and the next pod finds it; the volume is unpublished and unstaged", async () => {
    const volume = await createBoundClaim(node.api, { namespace: node.namespace, driver: driverName, name: 'c1' });
    await node.create('writer', withClaim('c1', 'echo kept > /data/f; exec sleep 3600'));
    await node.untilRunning('writer');
    assert.equal(readFileSync(join(driver.options.stateDir, 'volumes', volume, 'f'), 'utf8'), 'kept\n');
    assert.equal(mounts().length, 2);
    await node.delete('writer');
    await node.untilGone('writer');
    await waitUntil('the volume is unstaged', () => callsFor(volume).includes('NodeUnstageVolume'));
    const all = ['NodeStageVolume', 'NodePublishVolume', 'NodeUnpublishVolume', 'NodeUnstageVolume'];
    assert.deepEqual(callsFor(volume), all);
    await waitUntil(
      'nothing is left',
      () => mounts().length === 0 && readdirSync(join(node.node.rootDir, 'plugins/kubernetes.io/csi', driverName)).length === 0,
    );
    await node.create('reader', withClaim('c1', 'cat /data/f; touch /data/g 2>/dev/null || echo refused; exec sleep 3600', true));
    await node.untilRunning('reader');
    assert.equal(await node.kubectl('logs', 'reader'), 'kept\nrefused\n');
    const uid = (await node.get('reader')).metadata.uid;
    await node.delete('reader');
    await node.untilGone('reader');
    await waitUntil('the pod folder is removed', () => !existsSync(join(node.node.rootDir, 'pods', uid)));
  });

  test('a restarted kubelet makes no call for a running pod, which keeps its mounts; also without the driver', async () => {
    const volume = await createBoundClaim(node.api, { namespace: node.namespace, driver: driverName, name: 'c2' });
    await node.create('steady', withClaim('c2'));
    const before = await node.untilRunning('steady');
    const lines = () =>
      readFileSync('/proc/self/mountinfo', 'utf8')
        .split('\n')
        .filter((line) => line.includes(`${node.node.rootDir}/`) && line.includes('csi'));
    const mounted = lines();
    await node.node.stopKubelet('SIGKILL');
    await driver.stop('SIGKILL');
    await node.node.startKubelet();
    await node.untilReady();
    // A pod that starts shows that the kubelet has synced its pods.
    await node.create('later');
    await node.untilRunning('later');
    await driver.start();
    await waitUntil(
      'the driver is registered again',
      () => driver.journal().filter(({ method }) => method === 'NotifyRegistrationStatus').length === 2,
    );
    assert.equal(await node.exec('steady', 'echo again > /data/g; cat /data/g'), 'again\n');
    assert.deepEqual(lines(), mounted);
    assert.deepEqual(callsFor(volume), ['NodeStageVolume', 'NodePublishVolume']);
    const { status } = await node.get('steady');
    assert.equal(status?.containerStatuses?.[0]?.containerID, before.status?.containerStatuses?.[0]?.containerID);
    await node.delete('steady');
    await node.untilGone('steady');
    await waitUntil('the volume is unstaged', () => callsFor(volume).at(-1) === 'NodeUnstageVolume');
  });

  test('the usage of a claim is shown by its name, also in CrashLoopBackOff, as its driver measures it; the calls of the driver are counted', async () => {
    await createBoundClaim(node.api, { namespace: node.namespace, driver: driverName, name: 'measured' });
    await node.create('crashing', withClaim('measured', 'exit 1'));
    await node.until('crashing', 'is in CrashLoopBackOff', ({ status }) =>
      Boolean(status?.containerStatuses?.some(({ state }) => state?.waiting?.reason === 'CrashLoopBackOff')),
    );
    const page = (path: string) => node.api.text(`${node.nodePath}/proxy/${path}`);
    const labels = `{namespace="${node.namespace}",persistentvolumeclaim="measured"}`;
    // Go's form of 2^30.
    const capacity = `kubelet_volume_stats_capacity_bytes${labels} 1.073741824e+09\n`;
    const metrics = await waitUntil('the driver has measured the claim', async () => {
      const text = await page('metrics');
      return text.includes(capacity) ? text : undefined;
    });
    for (const [name, value] of [
      ['used_bytes', 4096],
      ['inodes', 1000],
      ['inodes_used', 10],
      ['inodes_free', 990],
    ])
      assert.ok(metrics.includes(`kubelet_volume_stats_${name}${labels} ${value}\n`), String(name));
    assert.match(
      metrics,
      new RegExp(
        `^csi_operations_seconds_count\\{driver_name="${driverName}",grpc_status_code="OK",method_name="/csi.v1.Node/NodePublishVolume"`,
        'm',
      ),
    );
    assert.match(
      metrics,
      new RegExp(`^storage_operation_duration_seconds_count\\{.*volume_mount.*"kubernetes\\.io/csi:${driverName}"`, 'm'),
    );
    const volume = await waitUntil('the summary has the pod, once its sandbox is measured', async () => {
      const { pods } = JSON.parse(await page('stats/summary')) as Summary;
      return pods.find(({ podRef }) => podRef.name === 'crashing')?.volume?.find(({ name }) => name === 'data');
    });
    assert.deepEqual(volume.pvcRef, { name: 'measured', namespace: node.namespace });
    assert.equal(volume.capacityBytes, 2 ** 30);
    await node.delete('crashing');
    await node.untilGone('crashing');
    assert.ok(!(await page('metrics')).includes(labels));
  });

  test('a claim that is not bound, and a volume of a driver that fails, are named in events', async () => {
    await node.api.create(`/api/v1/namespaces/${node.namespace}/persistentvolumeclaims`, {
      apiVersion: 'v1',
      kind: 'PersistentVolumeClaim',
      metadata: { name: 'unbound' },
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'none', resources: { requests: { storage: '1Gi' } } },
    });
    await node.create('unbound', withClaim('unbound'));
    await node.untilEvent(
      'unbound',
      'FailedMount',
      new RegExp(`failed to process volumes=\\[data\\]: error processing PVC ${node.namespace}/unbound: PVC is not bound`),
    );
    const volume = await createBoundClaim(node.api, { namespace: node.namespace, driver: driverName, name: 'c3' });
    driver.setFaults({ NodeStageVolume: { code: 'INTERNAL', message: 'no such disk', times: 2 } });
    await node.create('failing', withClaim('c3'));
    await node.untilEvent(
      'failing',
      'FailedMount',
      new RegExp(`^MountVolume\\.MountDevice failed for volume "${volume}" : rpc error: code = Internal desc = no such disk$`),
    );
    await node.untilRunning('failing');
  });

  test('an inline volume and a claim of the pod get their secrets and the pod, and end with the pod', async () => {
    await node.kubectl('create', 'secret', 'generic', 'login', '--from-literal=password=canary-geheim');
    const secret = { name: 'login', namespace: node.namespace };
    const pod = await node.create('both', {
      terminationGracePeriodSeconds: 1,
      containers: [
        aBusybox({
          volumeMounts: [
            { name: 'inline', mountPath: '/inline' },
            { name: 'own', mountPath: '/own' },
          ],
        }),
      ],
      volumes: [
        { name: 'inline', csi: { driver: driverName, volumeAttributes: { size: '1' }, nodePublishSecretRef: { name: 'login' } } },
        {
          name: 'own',
          ephemeral: {
            volumeClaimTemplate: {
              spec: { accessModes: ['ReadWriteOnce'], storageClassName: '', resources: { requests: { storage: '1Gi' } } },
            },
          },
        },
      ],
    });
    const { uid } = pod.metadata;
    const volume = await createBoundClaim(node.api, {
      namespace: node.namespace,
      driver: driverName,
      name: 'both-own',
      isOfPod: true,
      source: { nodeStageSecretRef: secret, nodePublishSecretRef: secret },
    });
    await node.untilRunning('both');
    const secrets = { password: 'canary-geheim' };
    const requests = driver.journal().map(({ method, request }) => ({
      method,
      ...(request as { volumeId: string; secrets: unknown; volumeContext: Record<string, string> }),
    }));
    const ofPod = (mode: string) =>
      requests.find(
        ({ method, volumeContext }) =>
          method === 'NodePublishVolume' &&
          volumeContext['csi.storage.k8s.io/pod.uid'] === uid &&
          volumeContext['csi.storage.k8s.io/ephemeral'] === mode,
      );
    assert.deepEqual([ofPod('true')?.secrets, ofPod('true')?.volumeContext['size']], [secrets, '1']);
    assert.deepEqual([ofPod('false')?.secrets, ofPod('false')?.volumeId], [secrets, volume]);
    assert.deepEqual(requests.find(({ method, volumeId }) => method === 'NodeStageVolume' && volumeId === volume)?.secrets, secrets);
    await node.delete('both');
    await node.untilGone('both');
    const handle = ofPod('true')?.volumeId ?? '';
    await waitUntil(
      'both volumes have ended',
      () => callsFor(volume).at(-1) === 'NodeUnstageVolume' && callsFor(handle).at(-1) === 'NodeUnpublishVolume',
    );
    assert.doesNotMatch(node.node.log(), /canary-geheim/);
  });

  const volumesInUse = async () => (await node.api.get<Node>(node.nodePath)).status.volumesInUse ?? [];
  const attachingCalls = (volume: string) => attaching.volumeCalls().filter((call) => call.includes(` ${volume}`));

  test('an attached volume is staged once the Node lists it and the controller has attached it, with the context of the attachment', async () => {
    await attaching.start();
    const volume = await createBoundClaim(node.api, { namespace: node.namespace, driver: attachingName, name: 'a1' });
    const name = `kubernetes.io/csi/${attachingName}^${volume}`;
    const watch = await NodeVolumesWatch.start(node.api, nodeName);
    await node.create('attached', withClaim('a1'));
    await waitUntil('the volume is in use', async () => (await volumesInUse()).includes(name));
    await waitUntil('the controller attaches', () => attacher.exists(volume));
    assert.deepEqual(attachingCalls(volume), []);
    const attachmentMetadata = { device: 'sdb' };
    await attacher.setStatus(volume, { attached: true, attachmentMetadata });
    await node.untilRunning('attached');
    await watch.stop();
    const calls = attaching.journal().filter(({ volumeID }) => volumeID === volume);
    assert.deepEqual(
      calls.map(({ method, request }) => [method, (request as { publishContext: unknown }).publishContext]),
      [
        ['NodeStageVolume', attachmentMetadata],
        ['NodePublishVolume', attachmentMetadata],
      ],
    );
    assert.ok(watch.versions.find(({ volumesInUse: names }) => names.includes(name))!.seenAtMs < calls[0]!.startMs);
    const path = attacher.path(volume);
    const gets = node.cluster.controlPlane
      .auditEvents(nodeName)
      .filter(({ requestURI, responseStatus }) => requestURI === path && responseStatus?.code === 200);
    assert.equal(gets.length, 1);
  });

  test('a volume stays in use in each version of the Node until it is unstaged, also when the kubelet is killed before', async () => {
    const volume = `pv-${node.namespace}-a1`;
    const name = `kubernetes.io/csi/${attachingName}^${volume}`;
    attaching.setFaults({ NodeUnstageVolume: { code: 'INTERNAL' } });
    const watch = await NodeVolumesWatch.start(node.api, nodeName);
    await node.delete('attached');
    await node.untilGone('attached');
    await waitUntil('the unstage has failed', () => attachingCalls(volume).includes(`NodeUnstageVolume ${volume} 13`));
    await node.node.stopKubelet('SIGKILL');
    await node.node.startKubelet();
    // A pod that starts shows that the kubelet has written its status.
    await node.create('next');
    await node.untilRunning('next');
    attaching.setFaults({});
    await waitUntil('the volume is unstaged', () => attachingCalls(volume).at(-1) === `NodeUnstageVolume ${volume}`);
    const unstagedAtMs = attaching.journal().at(-1)!.startMs;
    await waitUntil('the volume is not in use', async () => !(await volumesInUse()).includes(name));
    await waitUntil('the controller has detached it', async () => !(await attacher.exists(volume)), 60_000);
    await watch.stop();
    const shorter = watch.versions.filter(({ volumesInUse: names }) => !names.includes(name));
    assert.ok(watch.versions.length > shorter.length && shorter.length > 0);
    assert.ok(shorter.every(({ seenAtMs }) => seenAtMs > unstagedAtMs));
  });

  test('an error of the attacher is named, and a pod beyond the limit of the node is rejected; the limit is read again', async () => {
    const volume = await createBoundClaim(node.api, { namespace: node.namespace, driver: attachingName, name: 'a2' });
    const infoCalls = () => attaching.journal().filter(({ method }) => method === 'NodeGetInfo').length;
    const before = infoCalls();
    await node.create('beyond', withClaim('a2'));
    await attacher.setStatus(volume, { attached: false, attachError: { message: 'no such disk' } });
    await node.untilEvent(
      'beyond',
      'FailedMount',
      new RegExp(`^MountVolume\\.WaitForAttach failed for volume "${volume}" : no such disk$`),
    );
    await attacher.setStatus(volume, { attached: false, attachError: { message: 'no room', errorCode: 8 } });
    const { status } = await node.untilEnded('beyond');
    assert.deepEqual([status?.phase, status?.reason], ['Failed', 'VolumeAttachmentLimitExceeded']);
    assert.match(status?.message ?? '', /^Node has reached its volume attachment limit, rejecting pod\. unmounted volumes=\[data\]/);
    assert.equal(infoCalls(), before + 1);
    assert.ok(!attachingCalls(volume).some((call) => call.startsWith('NodeStage')));
    await node.delete('beyond');
    await node.untilGone('beyond');
  });

  test('a kubelet that is to attach volumes itself refuses those of drivers, and does not ask for the controller', async () => {
    await node.node.stopKubelet();
    await node.node.startKubelet({ configuration: { enableControllerAttachDetach: false } });
    await node.create('refused', withClaim('a2'));
    const why = 'attaching volumes from the kubelet is not supported';
    const message = new RegExp(`^AttachVolume\\.Attach failed for volume "pv-${node.namespace}-a2" : ${why}$`);
    await node.untilEvent('refused', 'FailedAttachVolume', message);
    const { annotations } = (await node.api.get<Node>(node.nodePath)).metadata;
    assert.equal(annotations['volumes.kubernetes.io/controller-managed-attach-detach'], undefined);
    await node.delete('refused');
    await node.untilGone('refused');
  });

  test('a driver whose socket is removed leaves the CSINode and the Node', async () => {
    await attaching.stop();
    await driver.stop();
    await waitUntil('the CSINode is without the driver', async () => !(await node.api.get<CsiNode>(csiNodePath)).spec.drivers?.length);
    await waitUntil('the annotation is gone', async () => (await nodeID()) === undefined);
    await driver.start();
    await waitUntil('the driver is back', async () => (await nodeID()) !== undefined);
  });

  /** The authorizer may learn of a pod's binding after the kubelet; the request is then repeated. */
  test('the API server has forbidden nothing for good', async () => {
    const events = node.cluster.controlPlane.auditEvents(nodeName);
    const allowed = new Set(events.filter(({ responseStatus }) => responseStatus?.code !== 403).map(({ requestURI }) => requestURI));
    const forbidden = events.filter(({ responseStatus, requestURI }) => responseStatus?.code === 403 && !allowed.has(requestURI));
    assert.deepEqual(
      forbidden.map(({ requestURI }) => requestURI),
      [],
    );
  });
});
