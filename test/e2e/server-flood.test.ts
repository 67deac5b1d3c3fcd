/**
 * A kubelet in a cluster whose secure port is flooded by clients without credentials: /healthz and authorized log requests are
 * served, and no thread dies.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Flood } from '../../bench/driver/flood.ts';
import { aBusybox } from '../support/kubelet/test-node.ts';
import { TestClusterNode } from '../support/cluster/cluster-node.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

let node: TestClusterNode;
before(async () => {
  node = await TestClusterNode.start('flooded-node');
});
after(() => node?.destroy());

test('/healthz and logs are served during a flood by clients without credentials', async (t) => {
  await node.create('web', { containers: [aBusybox({ sh: 'echo served; trap "exit 0" TERM; while :; do sleep 1000 & wait $!; done' })] });
  await node.untilRunning('web');
  const { status } = await node.api.get<{ status: { daemonEndpoints: { kubeletEndpoint: { Port: number } } } }>(node.nodePath);
  const flood = new Flood({ port: status.daemonEndpoints.kubeletEndpoint.Port, idle: 1024, pipelining: 10 });
  t.after(() => flood.end());
  await waitUntil('the flood has opened 1000 connections', async () => (await flood.counts()).opened > 1000, 60_000);
  for (let i = 0; i < 20; i += 1) {
    assert.equal((await node.node.healthz()).status, 200);
    assert.match(await node.kubectl('logs', 'web'), /^served\n?$/);
  }
  await flood.end();
  assert.doesNotMatch(node.node.log(), /thread died/);
});
