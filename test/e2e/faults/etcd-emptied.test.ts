/** The cluster is emptied under a running node: same address and certificates, no objects, then the same names with other UIDs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { privateCluster } from '../../support/cluster/control-plane.ts';
import { loopDelay, loopDelayEnv, resetLoopDelay } from '../../support/cluster/faulty-node.ts';
import { containersOf, runningOf, untilOnlyThese } from '../../support/kubelet/observed-node-state.ts';
import { isRunning, PodWatch } from '../../support/cluster/pod-watch.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';
import { aManifest, TestNode } from '../../support/kubelet/test-node.ts';

interface NodeObject {
  readonly metadata: { readonly uid: string };
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

test('etcd is emptied: old pods terminate, static pods stay, the node registers and runs new pods', async (t) => {
  const nodeName = 'emptied-node';
  const cluster = await privateCluster(t);
  const member = await cluster.member(t, nodeName);
  const node = await TestNode.start(t, { ...member, env: loopDelayEnv() });
  const pods = await PodWatch.start(t, cluster, 'default');
  const create = (name: string) => pods.create(aManifest(name, { nodeName }, { namespace: 'default' }));
  const findNode = () => cluster.api.find<NodeObject>(`/api/v1/nodes/${nodeName}`);
  await node.startKubelet();
  node.apply(aManifest('static'));
  const staticName = `static-${nodeName}`;
  for (const name of ['a', 'b', 'c']) await create(name);
  await pods.untilAll('all run', (all) => all.length === 4 && all.every(isRunning));
  const nodeBefore = (await findNode())!.metadata.uid;
  const mirrorBefore = pods.get(staticName)!;
  const staticUID = mirrorBefore.metadata.annotations!['kubernetes.io/config.mirror']!;
  const staticID = await runningOf(node, staticUID);
  const oldUIDs = new Set(['a', 'b', 'c'].map((name) => pods.get(name)!.metadata.uid));
  resetLoopDelay(node);

  await cluster.controlPlane.restartEtcdEmpty();
  const startedAt = performance.now();
  const nodeAfter = await waitUntil(
    'the node is registered and Ready',
    async () => {
      const found = await findNode();
      return found?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ? found : null;
    },
    120_000,
  );
  assert.notEqual(nodeAfter.metadata.uid, nodeBefore);
  t.diagnostic(`the node is Ready again after ${Math.round(performance.now() - startedAt)} ms`);
  // The same name at once, as a controller of the new cluster would create it.
  const recreated = await create('a');
  await pods.until('a', 'runs', isRunning, 120_000);
  const mirror = await pods.until(
    staticName,
    'has a new mirror pod',
    ({ metadata, status }) => metadata.uid !== mirrorBefore.metadata.uid && status?.phase === 'Running',
    120_000,
  );
  assert.equal(mirror.metadata.ownerReferences?.[0]?.uid, nodeAfter.metadata.uid);
  await untilOnlyThese(node, [staticUID, recreated.metadata.uid], 120_000);
  t.diagnostic(`the old pods are gone and the new one runs after ${Math.round(performance.now() - startedAt)} ms`);
  assert.deepEqual(await runningOf(node, staticUID), staticID);
  // Nothing about the old pods was written to the new cluster.
  const stale = pods.all().filter(({ metadata }) => oldUIDs.has(metadata.uid));
  assert.deepEqual(stale, []);
  assert.equal((await containersOf(node)).length, 2);
  t.diagnostic(loopDelay(node));
});
