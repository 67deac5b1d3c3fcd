/** A node of a cluster whose swap, memory and processors change while the kubelet runs, on cgroup v2: what the Node reports, and what pods get. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { aGuestCluster, onNode } from '../support/guest/guest-cluster.ts';
import { GuestNode, statusOf } from '../support/guest/guest-node.ts';

const MiB = 2 ** 20;
const cluster = await aGuestCluster();
const { kubectl } = cluster;
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
  let node: GuestNode;
  before(async () => {
    node = await GuestNode.start({
      memory: '2G',
      share: [cluster.programs],
      config: limitedSwap,
      prepare: (guest) => cluster.start(guest),
    });
  });
  after(() => node?.destroy());

  async function create(...pods: readonly object[]): Promise<void> {
    await node.guest.write('/srv/pods.json', JSON.stringify({ apiVersion: 'v1', kind: 'List', items: pods }));
    await node.guest.check(`${kubectl} create -f /srv/pods.json`, { timeoutMs: 120_000 });
  }
  /** Of the file in the cgroup of the pod's container `app`. */
  async function valueOf(name: string, file: string): Promise<string> {
    const id = statusOf(await node.untilRunning(name))?.containerID?.split('//')[1];
    return node.guest.check(`cat $(find /sys/fs/cgroup/kubepods.slice -type d -name '*${id}*')/${file}`);
  }
  const ofNode = (path: string) => `${kubectl} get node guest -o 'jsonpath={.status.${path}}'`;
  const meminfo = async (name: string) => Number(await node.guest.check(`awk '/^${name}:/ {print $2}' /proc/meminfo`)) * 1024;
  /** 32 MiB of memory in a container that may have 24. */
  const excessive = (name: string) =>
    onNode(name, { sh: 'dd if=/dev/zero of=/dev/shm/data bs=1M count=32; exec sleep 100000', resources: memory('20Mi', '24Mi') });

  test('has no swap at first: pods get none under LimitedSwap', async () => {
    await create(onNode('without', { resources: memory('64Mi', '128Mi') }));
    assert.equal(await valueOf('without', 'memory.swap.max'), '0');
    assert.equal(await node.guest.check(ofNode('nodeInfo.swap')), '');
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
    const metric = `^container_swap_usage_bytes{container="app",namespace="default",pod="swapping"} [1-9]`;
    const readMetrics = `bash -c 'exec 3<>/dev/tcp/127.0.0.1/10255 && printf "GET /metrics/resource HTTP/1.0\\r\\n\\r\\n" >&3 && cat <&3'`;
    await node.untilPrints(`${readMetrics} | grep -c '${metric}'`, '1', 60_000);
    const status = statusOf(await node.untilRunning('swapping'));
    assert.equal(status?.restartCount, 0);
    await node.untilPrints(ofNode('nodeInfo.swap.capacity'), String(await meminfo('SwapTotal')), nodeTimeoutMs);
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
    await node.startKubelet({
      ...limitedSwap,
      systemReserved: { cpu: '300m', memory: '100Mi' },
      evictionHard: { 'memory.available': '50Mi' },
    });
    const large = (name: string) => onNode(name, { resources: { requests: { cpu: '2500m' } } });
    const total = await meminfo('MemTotal');
    const print = ofNode('capacity.cpu}{" "}{.status.capacity.memory}{" "}{.status.allocatable.cpu}{" "}{.status.allocatable.memory');
    const amounts = (cpus: number, bytes: number) => `${cpus} ${bytes / 1024}Ki ${cpus * 1000 - 300}m ${(bytes - 150 * MiB) / 1024}Ki`;
    await node.untilPrints(print, amounts(2, total), nodeTimeoutMs);
    await create(large('refused'));
    const { status } = await node.until('refused', 'is refused', (pod) => pod.status?.phase === 'Failed');
    assert.equal(status?.reason, 'OutOfcpu');
    // User Mode Linux cannot add any: the kubelet reads other files.
    await node.guest.check(
      `sed 's/^MemTotal:.*/MemTotal: ${total / 1024 + 524_288} kB/' /proc/meminfo > /run/meminfo && mount --bind /run/meminfo /proc/meminfo &&
       { cat /proc/cpuinfo; sed '/^processor.*1$/,$d; s/^processor.*/processor\\t: 2/' /proc/cpuinfo; } > /run/cpuinfo && mount --bind /run/cpuinfo /proc/cpuinfo`,
    );
    await node.untilPrints(print, amounts(3, total + 512 * MiB), nodeTimeoutMs);
    await create(large('admitted'));
    await node.untilRunning('admitted');
  });
});
