/** The cluster is restored from an older backup under a running node: the same UIDs, with older resource versions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../src/shared/kubernetes/api.ts';
import { privateCluster } from '../../support/cluster/control-plane.ts';
import { runningOf, untilOnlyThese } from '../../support/kubelet/observed-node-state.ts';
import { isRunning, PodWatch } from '../../support/cluster/pod-watch.ts';
import { aManifest, TestNode } from '../../support/kubelet/test-node.ts';

const hasRestarted = (pod: Pod) => isRunning(pod) && pod.status?.containerStatuses?.[0]?.restartCount === 1;

test('etcd is restored: later changes are reported again, unknown pods terminate, restored pods run', async (t) => {
  const nodeName = 'restored-node';
  const cluster = await privateCluster(t);
  const node = await TestNode.start(t, await cluster.member(t, nodeName));
  const pods = await PodWatch.start(t, cluster, 'default');
  const create = (name: string) => pods.create(aManifest(name, { nodeName }, { namespace: 'default' }));
  await node.startKubelet();
  const [kept, deleted] = [await create('kept'), await create('deleted')];
  await pods.untilAll('both run', (all) => all.length === 2 && all.every(isRunning));
  await cluster.controlPlane.saveEtcd();

  await create('new');
  await pods.until('new', 'runs', isRunning);
  await pods.delete('deleted');
  await pods.untilGone('deleted');
  const [containerId = ''] = await runningOf(node, kept.metadata.uid);
  await node.cri.runtime.call('stopContainer', { containerId, timeout: 0n }, { deadlineMs: 10_000 });
  await pods.until('kept', 'runs again', hasRestarted);
  const running = await runningOf(node, kept.metadata.uid);

  await cluster.controlPlane.restoreEtcd();
  const startedAt = performance.now();
  await pods.untilGone('new', 30_000);
  await pods.until('kept', 'has its status again', hasRestarted, 30_000);
  await pods.until('deleted', 'runs again', (pod) => pod.metadata.uid === deleted.metadata.uid && isRunning(pod), 60_000);
  await untilOnlyThese(node, [kept.metadata.uid, deleted.metadata.uid], 60_000);
  t.diagnostic(`the node matches the restored backup after ${Math.round(performance.now() - startedAt)} ms`);
  assert.deepEqual(await runningOf(node, kept.metadata.uid), running);
});
