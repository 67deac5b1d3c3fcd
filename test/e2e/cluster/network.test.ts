/** A node whose runtime has lost its network plugin: conditions, and which pods start. */
import assert from 'node:assert/strict';
import { renameSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import type { NodeStatus } from '../../../src/main/node/index.ts';
import { TestClusterNode, conditionOf } from '../../support/cluster/cluster-node.ts';
import { waitUntil } from '../../support/runtime/simulated-runtime.ts';

const notReady = /container runtime network not ready: NetworkReady=false reason:NetworkPluginNotReady message:/;

test('without a network plugin only hostNetwork pods start; others wait with a reason and start when it returns', async (t) => {
  const node = await TestClusterNode.start('cluster-network');
  t.after(() => node.destroy());
  await node.create('before');
  const before = await node.untilRunning('before');
  await node.create('ends');
  await node.untilRunning('ends');

  const network = join(node.node.folder, 'containerd/cni/10-bridge.conflist');
  renameSync(network, `${network}.disabled`);
  const readyCondition = async () => {
    const { status } = await node.api.get<{ status: NodeStatus }>(node.nodePath);
    return status.conditions?.find(({ type }) => type === 'Ready');
  };
  await waitUntil('the node is not ready', async () => (await readyCondition())?.status === 'False', 60_000);
  const condition = await readyCondition();
  assert.equal(condition?.reason, 'KubeletNotReady');
  assert.match(condition?.message ?? '', notReady);

  await node.create('waits');
  await node.create('host', { hostNetwork: true });
  await node.untilRunning('host');
  const event = await node.untilEvent('waits', 'NetworkNotReady', /^network is not ready: /);
  assert.equal(event.type, 'Warning');
  assert.match(event.message, notReady);
  const waits = await node.until(
    'waits',
    'cannot start containers',
    ({ status }) => conditionOf(status, 'PodReadyToStartContainers') === 'False',
  );
  assert.equal(waits.status?.phase, 'Pending');

  // The pod's network can't be removed; the exit of its containers is reported nevertheless.
  await node.delete('ends');
  const ended = await node.until('ends', 'has ended', ({ status }) => status?.phase === 'Succeeded');
  assert.equal(ended.status?.containerStatuses?.[0]?.state?.terminated?.exitCode, 0);
  assert.equal(conditionOf(ended.status, 'PodReadyToStartContainers'), 'False');
  await node.untilEvent('ends', 'FailedKillPod', /failed to destroy network for sandbox/);

  renameSync(`${network}.disabled`, network);
  await node.untilRunning('waits');
  await node.untilGone('ends');
  await node.untilReady();
  const after = await node.get('before');
  assert.deepEqual(after.status?.containerStatuses, before.status?.containerStatuses);
});
