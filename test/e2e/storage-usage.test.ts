/** The disk usage of pods on a node with a real containerd: writable layers, volumes and logs, measured without asking the runtime. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { containerd23 } from '../../lab/containerd/installations/containerd-2.3.ts';
import type { Pod } from '../../src/shared/kubernetes/api.ts';
import { Cleanups } from '../support/cleanups.ts';
import { aBusybox, aManifest, TestNode } from '../support/kubelet/test-node.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

type Filesystem = Readonly<Record<'availableBytes' | 'capacityBytes' | 'usedBytes' | 'inodes' | 'inodesFree' | 'inodesUsed', number>>;
interface PodUsage {
  readonly podRef: { readonly uid: string };
  readonly containers: readonly { readonly name: string; readonly rootfs?: Filesystem; readonly logs?: Filesystem }[];
  readonly volume?: readonly (Filesystem & { readonly name: string })[];
  readonly 'ephemeral-storage'?: Filesystem;
}

const MB = 1_000_000;

describe('the disk usage of pods', () => {
  const hooks = new Cleanups();
  let node: TestNode;

  const usageOf = async ({ metadata }: Pod): Promise<PodUsage | undefined> => {
    const reply = await node.get('/stats/summary');
    if (reply.status !== 200) return undefined;
    const { pods } = (await reply.json()) as { readonly pods: readonly PodUsage[] };
    return pods.find(({ podRef }) => podRef.uid === metadata.uid);
  };
  const volumeOf = (usage: PodUsage, volume: string) => usage.volume?.find(({ name }) => name === volume);

  /** The usage of a pod, once `isExpected`. */
  async function untilUsage(pod: Pod, what: string, isExpected: (usage: PodUsage) => boolean): Promise<PodUsage> {
    let usage: PodUsage | undefined;
    await waitUntil(what, async () => (usage = await usageOf(pod)) !== undefined && isExpected(usage), 90_000);
    return usage!;
  }

  before(async () => {
    node = await TestNode.start(hooks, { config: { volumeStatsAggPeriod: '5s' } });
    await node.startKubelet();
  });
  after(() => hooks.run());

  test('has the writable layer, the volumes and the logs of a pod, and their sum', async () => {
    const script = [
      'head -c 30000000 /dev/zero > /written',
      'head -c 20000000 /dev/zero > /data/large',
      'for i in $(seq 100); do echo x > /data/$i; done',
      'head -c 5000000 /dev/zero > /memory/large',
      'head -c 100000 /dev/zero | tr "\\0" "\\n"',
      'sleep 10000 & wait',
    ].join('; ');
    const volumeMounts = [
      { name: 'data', mountPath: '/data' },
      { name: 'memory', mountPath: '/memory' },
    ];
    node.apply(
      aManifest('writer', {
        containers: [aBusybox({ name: 'app', sh: script, volumeMounts })],
        volumes: [
          { name: 'data', emptyDir: {} },
          { name: 'memory', emptyDir: { medium: 'Memory', sizeLimit: '16Mi' } },
        ],
        terminationGracePeriodSeconds: 0,
      }),
    );
    const pod = await node.untilRunning('writer');
    const isComplete = (found: PodUsage) =>
      (found.containers[0]?.rootfs?.usedBytes ?? 0) > 29 * MB &&
      (volumeOf(found, 'data')?.inodesUsed ?? 0) >= 102 &&
      (volumeOf(found, 'memory')?.usedBytes ?? 0) > 4 * MB &&
      (found.containers[0]?.logs?.usedBytes ?? 0) > 100_000;
    const usage = await untilUsage(pod, 'everything that was written is measured', isComplete);
    const [app] = usage.containers;
    const [data, memory] = [volumeOf(usage, 'data')!, volumeOf(usage, 'memory')!];
    assert.ok(app!.rootfs!.usedBytes < 31 * MB, `${app!.rootfs!.usedBytes} bytes`);
    // The root of the layer, the file, and what the runtime creates for mounts.
    assert.ok(app!.rootfs!.inodesUsed >= 2 && app!.rootfs!.inodesUsed < 30, `${app!.rootfs!.inodesUsed} inodes`);
    assert.ok(data.usedBytes > 20 * MB && data.usedBytes < 22 * MB, `${data.usedBytes} bytes`);
    // The file, a hundred others, and the folder.
    assert.equal(data.inodesUsed, 102);
    assert.ok(data.capacityBytes > data.availableBytes && data.inodes > data.inodesFree);
    assert.equal(memory.capacityBytes, 16 * 1024 * 1024);
    assert.deepEqual([memory.usedBytes > 4 * MB && memory.usedBytes < 6 * MB, memory.inodesUsed], [true, 2]);
    // Memory is no disk. The pod's log folder has no files of its own; its hosts file has one block.
    const sum = app!.rootfs!.usedBytes + data.usedBytes + app!.logs!.usedBytes;
    const { usedBytes, inodesUsed, capacityBytes } = usage['ephemeral-storage']!;
    assert.ok(usedBytes >= sum && usedBytes <= sum + 16_384, `${usedBytes} bytes of ${sum}`);
    const inodes = app!.rootfs!.inodesUsed + data.inodesUsed + app!.logs!.inodesUsed;
    assert.ok(inodesUsed >= inodes && inodesUsed <= inodes + 1, `${inodesUsed} inodes of ${inodes}`);
    assert.ok(capacityBytes > usedBytes);
    const metrics = await (await node.get('/metrics')).text();
    for (const source of ['du', 'statfs']) {
      assert.match(metrics, new RegExp(`^kubelet_volume_metric_collection_duration_seconds_count{metric_source="${source}"} [1-9]`, 'm'));
    }
    const id = pod.status!.containerStatuses![0]!.containerID!.split('//')[1]!;
    // The runtime counts every ten seconds.
    await waitUntil(
      'the runtime counts the same',
      async () => {
        const { stats } = await node.cri.runtime.call('containerStats', { containerId: id }, { deadlineMs: 5000 });
        const { usedBytes: bytes, inodesUsed: files } = stats!.writableLayer!;
        return Number(bytes?.value) === app!.rootfs!.usedBytes && Number(files?.value) === app!.rootfs!.inodesUsed;
      },
      30_000,
    );
  });

  test('has a tree that is deeper than paths can be long', async () => {
    const levels = Array(100).fill('d').join('/');
    // `cd -P` descends, and says each time that it cannot name the folder.
    const deep = `cd /data; for i in $(seq 30); do mkdir -p ${levels}; cd -P ${levels}; done 2>/dev/null; echo x > file; sleep 10000 & wait`;
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    node.apply(
      aManifest('deep', {
        containers: [aBusybox({ name: 'app', sh: deep, volumeMounts })],
        volumes: [{ name: 'data', emptyDir: {} }],
        terminationGracePeriodSeconds: 0,
      }),
    );
    const pod = await node.untilRunning('deep');
    await untilUsage(pod, 'all levels are measured', (found) => volumeOf(found, 'data')?.inodesUsed === 3002);
  });

  test('of a pod is measured beside one with very many files', async () => {
    const volumeMounts = [{ name: 'data', mountPath: '/data' }];
    const volumes = [{ name: 'data', emptyDir: {} }];
    const manyFiles = 'mkdir /data/d; cd /data/d; while :; do for i in $(seq 2000); do : > $RANDOM$RANDOM$i; done; done';
    node.apply(
      aManifest('many', {
        containers: [aBusybox({ name: 'app', sh: manyFiles, volumeMounts, resources: { limits: { cpu: '300m' } } })],
        volumes,
        terminationGracePeriodSeconds: 0,
      }),
    );
    const many = await node.untilRunning('many');
    await untilUsage(many, 'many files are found', (usage) => (volumeOf(usage, 'data')?.inodesUsed ?? 0) > 2000);
    const small = aBusybox({ name: 'app', sh: 'head -c 1000000 /dev/zero > /data/f; sleep 10000 & wait', volumeMounts });
    node.apply(aManifest('small', { containers: [small], volumes, terminationGracePeriodSeconds: 0 }));
    const pod = await node.untilRunning('small');
    const usage = await untilUsage(pod, 'the small pod is measured', (found) => volumeOf(found, 'data')?.inodesUsed === 2);
    assert.ok(volumeOf(usage, 'data')!.usedBytes < 2 * MB);
  });
});

describe('the writable layer on another containerd', { concurrency: true }, () => {
  for (const containerd of ['1.6', containerd23] as const) {
    test(`is found in the mount table of containerd ${containerd}`, async (t) => {
      const node = await TestNode.start(t, { containerd });
      await node.startKubelet();
      const sh = 'head -c 30000000 /dev/zero > /written; sleep 10000 & wait';
      node.apply(aManifest('writer', { containers: [aBusybox({ sh })], terminationGracePeriodSeconds: 0 }));
      const pod = await node.untilRunning('writer');
      const usage = await waitUntil(
        'the layer is measured',
        async () => {
          const reply = await node.get('/stats/summary');
          if (reply.status !== 200) return undefined;
          const { pods } = (await reply.json()) as { readonly pods: readonly PodUsage[] };
          const rootfs = pods.find(({ podRef }) => podRef.uid === pod.metadata.uid)?.containers[0]?.rootfs;
          return rootfs && rootfs.usedBytes > 29 * MB ? rootfs : undefined;
        },
        60_000,
      );
      assert.ok(usage.usedBytes < 31 * MB, `${usage.usedBytes} bytes`);
      const metrics = await (await node.get('/metrics')).text();
      assert.match(metrics, /kubelet_runtime_operations_total{operation_type="create_container"}/);
      assert.doesNotMatch(metrics, /list_container_stats/, 'the runtime was asked');
    });
  }
});
