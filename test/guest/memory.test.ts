/** Containers that exceed their memory limit under systemd with cgroup v2. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { PodSpec } from '../../src/shared/kubernetes/api.ts';
import { GuestNode, statusOf } from '../support/guest/guest-node.ts';
import { aBusybox, aManifest } from '../support/kubelet/test-node.ts';

const resources = { limits: { memory: '20Mi' } };
const outOfMemory = { sh: 'tail /dev/zero; exit 5', resources };

describe('a container that exceeds its memory limit', () => {
  let node: GuestNode;
  const config = { crashLoopBackOff: { maxContainerRestartPeriod: '2s' } };
  before(async () => {
    node = await GuestNode.start({ config });
  });
  after(() => node?.destroy());

  const apply = (name: string, spec: Partial<PodSpec>) => node.apply(aManifest(name, spec));
  const lastEnd = (name: string, container: string, reason: string) =>
    node.until(name, `has ended as ${reason}`, (pod) => statusOf(pod, container)?.lastState?.terminated?.reason === reason, 90_000);

  // containerd 1.6 misses the event of the kernel when the cgroup is removed too soon: some ends are reported as Error. Restarts go on.
  test('ends with the reason OOMKilled, also as init container and sidecar', async () => {
    await apply('oom', { containers: [aBusybox(outOfMemory)] });
    await apply('oom-init', { initContainers: [aBusybox({ ...outOfMemory, name: 'init' })] });
    await apply('oom-side', { initContainers: [aBusybox({ ...outOfMemory, name: 'side', restartPolicy: 'Always' })] });
    for (const [name, container] of [
      ['oom', 'app'],
      ['oom-init', 'init'],
      ['oom-side', 'side'],
    ] as const) {
      const pod = await lastEnd(name, container, 'OOMKilled');
      // The kernel kills all processes of the container: the shell cannot exit with 5.
      assert.equal(statusOf(pod, container)?.lastState?.terminated?.exitCode, 137, name);
    }
    for (const name of ['oom', 'oom-init', 'oom-side']) await node.delete(name);
  });

  test('causes a check for evictions while it waits for memory', async () => {
    // A file that is larger than the limit is read again and again: each page is evicted before its next use.
    const sh = 'dd if=/dev/zero of=/file bs=1M count=40; while :; do cat /file > /dev/null; done';
    await apply('waiting', { containers: [aBusybox({ sh, resources })] });
    await node.untilMetric(/^kubelet_memory_pressure_notifications_total\{source="stall"\} [1-9]/m, 90_000);
    await node.delete('waiting');
  });

  test('survives the end of one process with singleProcessOOMKill', async () => {
    await node.startKubelet({ ...config, singleProcessOOMKill: true });
    await apply('single', { restartPolicy: 'Never', containers: [aBusybox(outOfMemory)] });
    const pod = await node.until('single', 'has failed', ({ status }) => status?.phase === 'Failed');
    assert.equal(statusOf(pod)?.state?.terminated?.exitCode, 5);
  });
});
