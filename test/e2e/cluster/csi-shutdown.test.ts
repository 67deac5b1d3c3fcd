/** Volumes of pods that end before a shutdown of the node, which a bus with nothing but logind announces. */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { TestAttacher } from '../../support/csi-driver/attacher.ts';
import { createBoundClaim } from '../../support/csi-driver/claims.ts';
import { ClusterCsiDriver } from '../../support/csi-driver/cluster-csi-driver.ts';
import { NodeVolumesWatch } from '../../support/csi-driver/node-volumes-watch.ts';
import { FakeLogind } from '../../support/dbus/fake-logind.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const nodeName = 'csi-shutdown';
const driverName = 'shutdown.csi.example';
/** Far more time than the pods need: each group ends with its last pod. */
const periods = { shutdownGracePeriod: '90s', shutdownGracePeriodCriticalPods: '30s' };
/** Longer than a busy test takes to see a change of the Node. */
const unstageMs = 3000;

describe('CSI volumes at the shutdown of a node', () => {
  const folder = mkdtempSync(join(tmpdir(), 'csi-shutdown-'));
  let logind: FakeLogind;
  let node: TestClusterNode;
  let driver: ClusterCsiDriver;
  let attacher: TestAttacher;
  before(async () => {
    logind = await FakeLogind.start(folder);
    node = await TestClusterNode.start(nodeName, { config: periods, env: { DBUS_SYSTEM_BUS_ADDRESS: logind.address } });
    driver = await ClusterCsiDriver.create(node, driverName, { attachRequired: true }, { nodeID: 'id-of-node' });
    attacher = new TestAttacher(node.api, driverName, nodeName);
    await driver.start();
  });
  after(async () => {
    await node?.kubectl('delete', 'pods', '--all', '--grace-period=1', '--wait=true').catch(() => {});
    await driver?.destroy();
    await node?.destroy();
    logind?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test('are unstaged, and not in use any more, before the pods of the next priority end and the lock is released', async () => {
    const order = join(folder, 'order');
    mkdirSync(order);
    const hostPath = { path: order, type: 'Directory' };
    const volumeMounts = [{ name: 'order', mountPath: '/order' }];
    const onTerm = (commands: string) => `trap '${commands}; exit 0' TERM; while :; do sleep 0.1; done`;
    const volume = await createBoundClaim(node.api, { namespace: node.namespace, driver: driverName, name: 'claim' });
    const name = `kubernetes.io/csi/${driverName}^${volume}`;
    await node.create('critical', {
      priorityClassName: 'system-node-critical',
      containers: [aBusybox({ sh: onTerm('sleep 1; touch /order/critical'), volumeMounts })],
      volumes: [{ name: 'order', hostPath }],
    });
    await node.create('user', {
      containers: [aBusybox({ sh: onTerm('touch /order/user'), volumeMounts: [...volumeMounts, { name: 'data', mountPath: '/data' }] })],
      volumes: [
        { name: 'order', hostPath },
        { name: 'data', persistentVolumeClaim: { claimName: 'claim' } },
      ],
    });
    await attacher.setStatus(volume, { attached: true });
    await Promise.all(['critical', 'user'].map((pod) => node.untilRunning(pod)));
    await waitUntil('the kubelet holds the lock', () => logind.locks === 1);
    driver.setFaults({ NodeUnstageVolume: { delayMs: unstageMs } });
    const watch = await NodeVolumesWatch.start(node.api, nodeName);

    logind.announce(true);
    const releasedAtMs = await logind.released;
    await watch.stop();
    const [unpublish, unstage] = ['NodeUnpublishVolume', 'NodeUnstageVolume'].map((method) =>
      driver.journal().find((call) => call.method === method && call.code === 0)!,
    );
    const endOf = (pod: string) => statSync(join(order, pod)).mtimeMs;
    const leftAtMs = watch.versions.find(({ volumesInUse }) => !volumesInUse.includes(name))!.seenAtMs;
    const times = {
      user: endOf('user'),
      unpublished: unpublish!.endMs,
      unstaged: unstage!.endMs,
      left: leftAtMs,
      critical: endOf('critical'),
    };
    const shown = JSON.stringify({ ...times, released: releasedAtMs });
    assert.ok(times.user < times.unpublished && times.unpublished < times.unstaged - unstageMs + 1, shown);
    assert.ok(times.unstaged <= times.left && times.left < times.critical && times.critical < releasedAtMs, shown);
  });
});
