/** Pods with quantities that a real API server admits and no node has: each affects itself only, also across a restart of the kubelet. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { PodSpec } from '../../../src/shared/kubernetes/api.ts';
import { TestClusterNode } from '../../support/cluster/cluster-node.ts';
import { aBusybox } from '../../support/kubelet/test-node.ts';

const requesting = (requests: Record<string, string>): Partial<PodSpec> => ({ containers: [aBusybox({ resources: { requests } })] });

const refused: readonly { readonly name: string; readonly spec: Partial<PodSpec>; readonly reason: string }[] = [
  { name: 'memory-10e39', spec: requesting({ memory: '10e39' }), reason: 'OutOfmemory' },
  { name: 'memory-1e20', spec: requesting({ memory: '1e20' }), reason: 'OutOfmemory' },
  { name: 'memory-1e300', spec: requesting({ memory: '1e300' }), reason: 'OutOfmemory' },
  { name: 'cpu-10e39', spec: requesting({ cpu: '10e39' }), reason: 'OutOfcpu' },
  { name: 'storage-10e39', spec: requesting({ 'ephemeral-storage': '10e39' }), reason: 'OutOfephemeral-storage' },
];
/** Limits above the kernel's maximum count as no limit; other pods must not be affected in any case. */
const admitted: readonly { readonly name: string; readonly spec: Partial<PodSpec> }[] = [
  { name: 'limit-10e39', spec: { containers: [aBusybox({ resources: { limits: { memory: '10e39' }, requests: { memory: '1Mi' } } })] } },
  { name: 'limit-9ei', spec: { containers: [aBusybox({ resources: { limits: { memory: '9Ei' }, requests: { memory: '1Mi' } } })] } },
  { name: 'cpu-limit-1e20', spec: { containers: [aBusybox({ resources: { limits: { cpu: '1e20' }, requests: { cpu: '1m' } } })] } },
  { name: 'grace-2-53', spec: { terminationGracePeriodSeconds: Number.MAX_SAFE_INTEGER } },
  { name: 'volume-10e39', spec: { volumes: [{ name: 'cache', emptyDir: { medium: 'Memory', sizeLimit: '10e39' } }] } },
];

describe('a pod with an extreme quantity', () => {
  let node: TestClusterNode;
  before(async () => {
    node = await TestClusterNode.start('cluster-quantities');
  });
  after(() => node?.destroy());

  test('affects no other pod, also across a restart of the kubelet', async () => {
    await node.create('before');
    const before = await node.untilRunning('before');
    for (const { name, spec } of [...refused, ...admitted]) await node.create(name, spec);
    for (const { name, reason } of refused) {
      const { status } = await node.untilEnded(name);
      assert.deepEqual([status?.phase, status?.reason], ['Failed', reason]);
    }
    for (const { name } of admitted) await node.until(name, 'has a start time', ({ status }) => status?.startTime !== undefined);
    await node.create('unaffected');
    await node.untilRunning('unaffected');

    await node.restartKubelet();
    await node.create('after');
    await node.untilRunning('after');
    const current = await node.get('before');
    assert.deepEqual(
      current.status?.containerStatuses?.map(({ containerID, restartCount }) => ({ containerID, restartCount })),
      before.status?.containerStatuses?.map(({ containerID, restartCount }) => ({ containerID, restartCount })),
    );
    for (const { name, reason } of refused) assert.equal((await node.get(name)).status?.reason, reason);
    for (const { name } of admitted) {
      await node.delete(name, { gracePeriodSeconds: 1 });
      await node.untilGone(name);
    }
  });
});
