/** A node of a cluster whose swap, memory and processors change while the kubelet runs, on cgroup v2: what the Node reports, and what pods get. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Node } from '../../src/main/node/node-object.ts';
import { GuestCluster, onNode } from '../support/guest/guest-cluster.ts';
import { GuestNode, statusOf } from '../support/guest/guest-node.ts';

const MiB = 2 ** 20;
/** The machine is read once a minute, and its Node is written each ten seconds. */
const nodeTimeoutMs = 150_000;
const limitedSwap = { failSwapOn: false, memorySwap: { swapBehavior: 'LimitedSwap' } };
/** The kernel keeps whole pages. */
const inPages = (bytes: number) => Math.floor(bytes / 4096) * 4096;
const memory = (requests?: string, limits?: string) => ({
  requests: { memory: requests ?? '0' },
  ...(limits && { limits: { memory: limits } }),
});

describe('a node whose resources change', () => {
  let cluster: GuestCluster;
  let node: GuestNode;
  before(async () => {
    cluster = await GuestCluster.start();
    node = await GuestNode.start({
      memory: '2G',
      share: [cluster.folder],
      config: limitedSwap,
      timeFactor: 4,
      prepare: () => Promise.resolve(cluster.member()),
    });
  });
  after(async () => {
    await node?.destroy();
    await cluster?.destroy();
  });

  const create = (...pods: readonly object[]) => cluster.create(...pods);
  /** Of the file in the cgroup of the pod's container `app`. */
  async function valueOf(name: string, file: string): Promise<string> {
    const id = statusOf(await node.untilRunning(name))?.containerID?.split('//')[1];
    return node.guest.check(`cat $(find /sys/fs/cgroup/kubepods.slice -type d -name '*${id}*')/${file}`);
  }
  const meminfo = async (name: string) => Number(await node.guest.check(`awk '/^${name}:/ {print $2}' /proc/meminfo`)) * 1024;
  /** 32 MiB of memory in a container that may have 24. */
  const excessive = (name: string) =>
    onNode(name, { sh: 'dd if=/dev/zero of=/dev/shm/data bs=1M count=32; exec sleep 100000', resources: memory('20Mi', '24Mi') });

  test('has no swap at first: pods get none under LimitedSwap', async () => {
    await create(onNode('without', { resources: memory('64Mi', '128Mi') }));
    assert.equal(await valueOf('without', 'memory.swap.max'), '0');
    await cluster.untilNode(
      'reports no swap',
      ({ status }) => status?.nodeInfo !== undefined && status.nodeInfo.swap === undefined,
      30_000,
    );
  });

  test('shares swap that is turned on among Burstable containers, by their requests for memory', async () => {
    await node.guest.check('fallocate -l 2G /swap && chmod 600 /swap && mkswap -q /swap && swapon /swap');
    const [total, swap] = [await meminfo('MemTotal'), await meminfo('SwapTotal')];
    const shareOf = (request: number) => String(inPages(Math.trunc((request / total) * swap)));
    // The runtime starts the sandbox within this share of a CPU.
    const same = { cpu: '150m', memory: '32Mi' };
    await create(
      onNode('limited', { resources: memory('64Mi', '128Mi') }),
      onNode('unlimited', { resources: memory('32Mi') }),
      onNode('all-requested', { resources: memory('32Mi', '32Mi') }),
      onNode('guaranteed', { resources: { requests: same, limits: same } }),
      onNode('best-effort', {}),
      onNode('critical', { resources: memory('64Mi', '128Mi') }, { priorityClassName: 'system-node-critical' }),
    );
    const names = ['limited', 'unlimited', 'all-requested', 'guaranteed', 'best-effort', 'critical'];
    const limits: [string, string][] = [];
    for (const name of names) limits.push([name, await valueOf(name, 'memory.swap.max')]);
    assert.deepEqual(Object.fromEntries(limits), {
      limited: shareOf(64 * MiB),
      unlimited: shareOf(32 * MiB),
      'all-requested': '0',
      guaranteed: '0',
      'best-effort': '0',
      critical: '0',
    });
  });

  test('swaps what a container needs beyond its memory limit, and the Node reports the swap', async () => {
    await create(excessive('swapping'));
    await node.untilRunning('swapping');
    await node.untilMetric(
      /^container_swap_usage_bytes\{container="app",namespace="default",pod="swapping"\} [1-9]/m,
      60_000,
      '/metrics/resource',
    );
    const status = statusOf(await node.untilRunning('swapping'));
    assert.equal(status?.restartCount, 0);
    const capacity = await meminfo('SwapTotal');
    await cluster.untilNode(
      `reports ${capacity} bytes of swap`,
      ({ status }) => status?.nodeInfo?.swap?.capacity === capacity,
      nodeTimeoutMs,
    );
  });

  test('under NoSwap kills such a container, although the node has swap', async () => {
    await node.startKubelet({ failSwapOn: false, memorySwap: { swapBehavior: 'NoSwap' } });
    await create(excessive('killed'));
    const { lastState, state } = statusOf(
      await node.until('killed', 'has ended', (pod) => {
        const app = statusOf(pod);
        return (app?.lastState?.terminated ?? app?.state?.terminated) !== undefined;
      }),
    )!;
    assert.equal((lastState?.terminated ?? state?.terminated)?.exitCode, 137);
    await create(onNode('none', { resources: memory('64Mi', '128Mi') }));
    assert.equal(await valueOf('none', 'memory.swap.max'), '0');
  });

  test('reports processors and memory that were added, less its reservations, and admits pods that fit now', async () => {
    await node.startKubelet(
      { ...limitedSwap, systemReserved: { cpu: '300m', memory: '100Mi' }, evictionHard: { 'memory.available': '50Mi' } },
      { timeFactor: 4 },
    );
    const large = (name: string) => onNode(name, { resources: { requests: { cpu: '1200m' } } });
    const total = await meminfo('MemTotal');
    const amounts = (cpus: number, bytes: number) => `${cpus} ${bytes / 1024}Ki ${cpus * 1000 - 300}m ${(bytes - 150 * MiB) / 1024}Ki`;
    const untilReported = (expected: string) => {
      const reported = ({ status: { capacity, allocatable } = {} }: Node) =>
        [capacity?.['cpu'], capacity?.['memory'], allocatable?.['cpu'], allocatable?.['memory']].join(' ');
      return cluster.untilNode(`reports ${expected}`, (object) => reported(object) === expected, nodeTimeoutMs);
    };
    await untilReported(amounts(1, total));
    await create(large('refused'));
    const { status } = await node.until('refused', 'is refused', (pod) => pod.status?.phase === 'Failed');
    assert.equal(status?.reason, 'OutOfcpu');
    // User Mode Linux cannot add any: the kubelet reads other files.
    await node.guest.check(
      `sed 's/^MemTotal:.*/MemTotal: ${total / 1024 + 524_288} kB/' /proc/meminfo > /run/meminfo && mount --bind /run/meminfo /proc/meminfo &&
       echo 0-1 > /run/online && mount --bind /run/online /sys/devices/system/cpu/online`,
    );
    await untilReported(amounts(2, total + 512 * MiB));
    await create(large('admitted'));
    await node.untilRunning('admitted');
  });
});
