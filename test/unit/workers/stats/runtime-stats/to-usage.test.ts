import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ListPodSandboxStatsResponse } from '../../../../../src/shared/cri/generated/cri-v1.ts';
import type { ContainerID, PodUID, SandboxID } from '../../../../../src/shared/kubernetes/ids.ts';
import type { SnapshotItem } from '../../../../../src/shared/state/runtime-snapshot.ts';
import { toUsage } from '../../../../../src/workers/stats/runtime-stats/to-usage.ts';

const ofPod = { state: 'running', attempt: 0, createdAtMs: 5, podUID: 'u' as PodUID, podName: 'p', podNamespace: 'n' } as const;
const sandbox: SnapshotItem = {
  ...ofPod,
  kind: 'sandbox',
  id: 's' as SandboxID,
  sandboxID: 's' as SandboxID,
  containerName: '',
  image: '',
};
const container: SnapshotItem = { ...sandbox, kind: 'container', id: 'c' as ContainerID, containerName: 'app', image: 'busybox' };
const items = new Map([sandbox, container].map((item) => [item.id as string, item]));
const value = (number: number) => ({ value: BigInt(number) });
const statsOf = (linux: object) => ListPodSandboxStatsResponse.fromPartial({ stats: [{ attributes: { id: 's' }, linux }] }).stats;
const cpu = { timestamp: 1_700_000_000_123_456_789n, usageCoreNanoSeconds: value(7) };

test('a pod, its sandbox and its containers have what the runtime measures', () => {
  const psi = { Some: { Total: 9n, Avg10: 1.5, Avg60: 0, Avg300: 0 }, Full: { Total: 4n, Avg10: 0, Avg60: 0, Avg300: 0 } };
  const memory = { timestamp: 1n, workingSetBytes: value(60), availableBytes: value(40), usageBytes: value(70), rssBytes: value(50), psi };
  const found = toUsage(
    statsOf({
      cpu,
      network: {
        defaultInterface: { name: 'eth0', rxBytes: value(1), txErrors: value(2) },
        interfaces: [{ name: 'eth0' }, { name: 'net1' }],
      },
      process: { processCount: value(3) },
      containers: [
        {
          attributes: { id: 'c' },
          cpu: { ...cpu, usageNanoCores: value(8) },
          memory,
          swap: { swapUsageBytes: value(5), swapAvailableBytes: value(6) },
        },
      ],
    }),
    items,
  );
  assert.deepEqual([...found.keys()], ['pod u', 's', 'c']);
  assert.deepEqual(found.get('pod u'), {
    identity: {
      kind: 'pod',
      path: '',
      podUID: 'u',
      podName: 'p',
      podNamespace: 'n',
      containerName: '',
      containerID: '',
      image: '',
      createdAtMs: 5,
    },
    values: { sampledAtMs: 1_700_000_000_123, cpuUsageNs: 7n },
  });
  const { processes, network } = found.get('s')!.values;
  assert.deepEqual([processes, (JSON.parse(network!) as { name: string }[]).map(({ name }) => name)], [3, ['eth0', 'net1']]);
  const app = found.get('c')!;
  assert.deepEqual([app.identity.containerName, app.values.cpuNanoCores], ['app', 8]);
  assert.deepEqual([app.values.memoryLimitBytes, app.values.memorySwapLimitBytes, app.values.memoryWorkingSetBytes], [100, 11, 60]);
  assert.deepEqual([app.values.memorySomeTotalUs, app.values.memorySomeAvg10, app.values.memoryFullTotalUs], [9, 1.5, 4]);
});

test('what does not run, and what a runtime leaves out, is left out', () => {
  assert.equal(toUsage(statsOf({ containers: [{ attributes: { id: 'other' }, cpu }, {}] }), items).has('other'), false);
  assert.deepEqual(toUsage(statsOf({}), items).get('s')?.values, {});
  assert.equal(toUsage(statsOf({ cpu }), new Map()).size, 0);
  assert.equal(toUsage(ListPodSandboxStatsResponse.fromPartial({ stats: [{}, { attributes: { id: 's' } }] }).stats, items).size, 0);
});

test('memory without a limit has none', () => {
  const found = toUsage(statsOf({ containers: [{ attributes: { id: 'c' }, memory: { workingSetBytes: value(60) } }] }), items);
  assert.equal(found.get('c')?.values.memoryLimitBytes, Infinity);
});
