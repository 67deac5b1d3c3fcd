/** What CSI drivers report of the health of volumes and of their storage, with the feature gate enabled in API server and kubelet. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { createBoundClaim } from '../../support/csi-driver/claims.ts';
import { ClusterCsiDriver } from '../../support/csi-driver/cluster-csi-driver.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const nodeName = 'cluster-csi-health';
const driverName = 'health.csi.example';
const otherName = 'other.csi.example';
const volumeCall = 'NodeGetVolumeHealth';
const capabilities = ['STAGE_UNSTAGE_VOLUME', 'GET_VOLUME_HEALTH', 'GET_STORAGE_HEALTH'];
/** Text of a driver. It must not be in the log. */
const secret = 'canary-geheim';

interface CsiNode {
  readonly status?: { readonly storageHealth?: readonly { readonly name: string; readonly healthConditions?: readonly object[] }[] };
}

describe('the health of CSI volumes', () => {
  let node: TestClusterNode;
  let driver: ClusterCsiDriver;
  const csiNodePath = `/apis/storage.k8s.io/v1/csinodes/${nodeName}`;
  const callsOf = (method: string, volume?: string) =>
    driver.journal().filter((entry) => entry.method === method && (volume === undefined || entry.volumeID === volume));
  /** Waits until the driver has been asked after this moment, and the kubelet has used the answer: the next call follows it. */
  const untilAsked = async (volume: string) => {
    const before = callsOf(volumeCall, volume).length;
    await waitUntil('the driver was asked about the volume', () => callsOf(volumeCall, volume).length >= before + 2);
  };
  const createPod = async (name: string) => {
    const volume = await createBoundClaim(node.api, { namespace: node.namespace, driver: driverName, name });
    await node.create(name, {
      terminationGracePeriodSeconds: 1,
      containers: [aBusybox({ volumeMounts: [{ name: 'data', mountPath: '/data' }] })],
      volumes: [{ name: 'data', persistentVolumeClaim: { claimName: name } }],
    });
    return volume;
  };
  const healthOf = async (name: string) => (await node.get(name)).status?.volumeHealth;

  before(async () => {
    node = await TestClusterNode.start(nodeName, { config: { featureGates: { CSIVolumeHealth: true }, volumeStatsAggPeriod: '1s' } });
    driver = await ClusterCsiDriver.create(node, driverName, { attachRequired: false }, { nodeID: 'id-of-node', capabilities });
    await driver.start();
  });
  after(async () => {
    await node?.kubectl('delete', 'pods', '--all', '--grace-period=1', '--wait=true').catch(() => {});
    await driver?.destroy();
    await node?.destroy();
  });

  test('what a driver reports of a volume is in the status of its pod, also after a restart, until the volume is healthy', async () => {
    const volume = await createPod('web');
    await node.untilRunning('web');
    await untilAsked(volume);
    assert.equal(await healthOf('web'), undefined);
    const condition = { status: 'Inaccessible', reason: 'PathLost', message: `all paths, ${secret}` };
    const report = (message: string) => driver.setHealth({ volumes: { [volume]: [{ ...condition, status: 'INACCESSIBLE', message }] } });
    report(condition.message);
    const { status } = await node.until('web', 'shows the condition', (pod) => pod.status?.volumeHealth !== undefined);
    const shown = status?.volumeHealth;
    const transition = shown?.[0]?.lastTransitionTime ?? '';
    assert.ok(Math.abs(Date.now() - Date.parse(transition)) < 60_000, transition);
    assert.deepEqual(shown, [{ name: 'data', healthConditions: [condition], lastTransitionTime: transition }]);

    report(`another message, ${secret}`);
    await untilAsked(volume);
    driver.setFaults({ [volumeCall]: { code: 'INTERNAL', message: secret } });
    await untilAsked(volume);
    await node.restartKubelet('SIGKILL');
    await untilAsked(volume);
    driver.setFaults({});
    await untilAsked(volume);
    assert.deepEqual(await healthOf('web'), shown);

    driver.setHealth({});
    const healthy = await node.until('web', 'is healthy', (pod) => !pod.status?.volumeHealth?.[0]?.healthConditions?.length);
    assert.deepEqual(
      healthy.status?.volumeHealth?.map(({ name }) => name),
      ['data'],
    );
    assert.equal(healthy.status?.phase, 'Running');
    assert.doesNotMatch(node.node.log(), new RegExp(secret));
  });

  test('a volume whose publication fails has its health in the status, too', async () => {
    driver.setFaults({ NodePublishVolume: { code: 'INVALID_ARGUMENT', message: 'no such filesystem' } });
    const volume = await createPod('broken');
    driver.setHealth({ volumes: { [volume]: [{ status: 'DATA_LOSS', reason: 'not a reason', message: 'x'.repeat(2000) }] } });
    const { status } = await node.until('broken', 'shows the condition', (pod) => pod.status?.volumeHealth !== undefined);
    assert.equal(status?.phase, 'Pending');
    assert.deepEqual(status?.volumeHealth?.[0]?.healthConditions, [
      { status: 'DataLoss', reason: 'NoValidReason', message: 'x'.repeat(1024) },
    ]);
    // The stage ends with the failure, because no other pod uses the volume.
    const requests = () => callsOf(volumeCall, volume).map(({ request }) => request as Readonly<Record<string, string>>);
    await waitUntil('the driver is asked about a volume without paths', () =>
      requests().some(({ volumePublishPath, stagingTargetPath }) => volumePublishPath === '' && stagingTargetPath === ''),
    );
    driver.setFaults({});
    driver.setHealth({});
    await node.untilRunning('broken');
  });

  test('what a driver reports of its storage is in the CSINode beside what others report, and in the metrics', async () => {
    const reported = async () => (await node.api.get<CsiNode>(csiNodePath)).status?.storageHealth ?? [];
    const ofDriver = async () => (await reported()).find(({ name }) => name === driverName)?.healthConditions;
    const series = async () =>
      (await node.api.text(`${node.nodePath}/proxy/metrics`))
        .split('\n')
        .filter((line) => line.startsWith('csi_node_storage_health_status'));
    const other = { name: otherName, healthConditions: [{ status: 'StorageDegraded', reason: 'SlowPath', lastTransitionTime: null }] };
    await node.api.patch(`${csiNodePath}/status`, { status: { storageHealth: [other] } });
    driver.setHealth({ storage: [{ status: 'STORAGE_UNREACHABLE', reason: 'NoRoute', message: 'no route' }] });
    const conditions = await waitUntil('the CSINode has the condition', ofDriver);
    const { lastTransitionTime, ...condition } = conditions[0] as { readonly lastTransitionTime: string };
    assert.deepEqual(condition, { status: 'StorageUnreachable', reason: 'NoRoute', message: 'no route' });
    assert.ok(Math.abs(Date.now() - Date.parse(lastTransitionTime)) < 60_000, lastTransitionTime);
    assert.deepEqual(
      (await reported()).find(({ name }) => name === otherName),
      other,
    );
    assert.deepEqual(await waitUntil('the metrics have the condition', async () => ((await series()).length > 0 ? series() : undefined)), [
      `csi_node_storage_health_status{driver_name="${driverName}",reason="NoRoute",status="StorageUnreachable"} 1`,
    ]);
    driver.setHealth({});
    await waitUntil('the CSINode has only what others report', async () => (await ofDriver()) === undefined);
    await waitUntil('the metrics have no condition', async () => (await series()).length === 0);
    assert.deepEqual(await reported(), [other]);
  });

  test('without the gate no driver is asked about health, and what is in the status stays', async () => {
    const before = await healthOf('web');
    assert.equal(before?.length, 1);
    await node.node.stopKubelet();
    const startedAtMs = Date.now();
    await node.node.startKubelet({ configuration: { featureGates: {} } });
    driver.setHealth({ storage: [{ status: 'STORAGE_DEGRADED', reason: 'SlowPath' }] });
    const isNew = ({ startMs }: { readonly startMs: number }) => startMs > startedAtMs;
    await waitUntil('the driver has registered again', () => callsOf('NotifyRegistrationStatus').some(isNew));
    // Four periods.
    await node.outputOf('later', { containers: [aBusybox({ sh: 'sleep 4' })] });
    assert.deepEqual(
      driver.journal().filter((entry) => entry.method.endsWith('Health') && isNew(entry)),
      [],
    );
    assert.deepEqual(await healthOf('web'), before);
  });

  test('the API server has forbidden nothing for good', () => {
    const events = node.cluster.controlPlane.auditEvents(nodeName);
    const allowed = new Set(events.filter(({ responseStatus }) => responseStatus?.code !== 403).map(({ requestURI }) => requestURI));
    assert.deepEqual(
      events.flatMap(({ responseStatus, requestURI }) => (responseStatus?.code === 403 && !allowed.has(requestURI) ? [requestURI] : [])),
      [],
    );
  });
});
