/** What the node gives to pods and to the processes of the host, on cgroup v2 with systemd: memory protection, swap, reservations, a changed machine. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { burstableSlice, countPodSlices } from '../support/guest/cgroup-values.ts';
import { GuestNode, statusOf } from '../support/guest/guest-node.ts';
import { aBusybox, aManifest } from '../support/kubelet/test-node.ts';

const MiB = 2 ** 20;
const burstable = (name: string, memory = '64Mi') => {
  const resources = { requests: { cpu: '100m', memory }, limits: { memory: '128Mi' } };
  return aManifest(name, { containers: [aBusybox({ resources })] }, { uid: name });
};
const guaranteed = (name: string) => {
  const amounts = { cpu: '100m', memory: '32Mi' };
  return aManifest(name, { containers: [aBusybox({ resources: { requests: amounts, limits: amounts } })] });
};
const memoryQos = {
  featureGates: { QOSReserved: true },
  memoryReservationPolicy: 'TieredReservation',
  memoryThrottlingFactor: 0.9,
  qosReserved: { memory: '50%' },
};
/** The kernel keeps whole pages. */
const inPages = (bytes: number) => Math.floor(bytes / 4096) * 4096;

describe('resources of the node', () => {
  let node: GuestNode;
  const print = (file: string) => node.guest.check(`cat ${file}`);
  const memTotal = async () => Number(await node.guest.check(`awk '/^MemTotal/ {print $2}' /proc/meminfo`)) * 1024;
  /** The folder of the pod's container `app`. */
  const containerOf = async (name: string) => {
    const id = statusOf(await node.untilRunning(name))?.containerID?.split('//')[1];
    return node.guest.check(`find /sys/fs/cgroup/kubepods.slice -type d -name '*${id}*'`);
  };

  before(async () => {
    node = await GuestNode.start({ config: memoryQos, timeFactor: 4 });
  });
  after(() => node?.destroy());
  afterEach(() => node.guest.check('rm -f /etc/kubernetes/manifests/*').then(() => node.untilPrints(countPodSlices, '0', 90_000)));

  test('with MemoryQoS the kernel protects requested memory, and throttles between request and limit', async () => {
    await node.apply(burstable('soft'));
    await node.apply(guaranteed('hard'));
    const [soft, hard] = [await containerOf('soft'), await containerOf('hard')];
    assert.equal(await print(`${soft}/memory.low`), String(64 * MiB));
    assert.equal(await print(`${soft}/memory.high`), String(inPages(64 * MiB + 64 * MiB * 0.9)));
    assert.equal(await print(`${soft}/../memory.low`), String(64 * MiB));
    assert.equal(await print(`${hard}/memory.min`), String(32 * MiB));
    assert.equal(await print(`${hard}/memory.high`), 'max');
    assert.equal(await print(`${hard}/../memory.min`), String(32 * MiB));
    // They follow within a minute.
    await node.untilPrints('cat /sys/fs/cgroup/kubepods.slice/memory.min', String(96 * MiB), 90_000);
    await node.untilPrints(`cat ${burstableSlice}/memory.low`, String(64 * MiB), 90_000);
    assert.equal(await print('/sys/fs/cgroup/kubepods.slice/memory.low'), String(64 * MiB));
    // Half of the requests of better classes is not for the worse ones.
    const total = await memTotal();
    assert.equal(await print(`${burstableSlice}/memory.max`), String(inPages(total - 16 * MiB)));
    assert.equal(await print('/sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice/memory.max'), String(inPages(total - 48 * MiB)));
    // A resize of the memory request alone.
    await node.apply(burstable('soft', '96Mi'));
    for (const [file, bytes] of [
      [`${soft}/memory.low`, 96 * MiB],
      [`${soft}/../memory.low`, 96 * MiB],
      [`${soft}/memory.high`, inPages(96 * MiB + 32 * MiB * 0.9)],
    ] as const)
      await node.untilPrints(`cat ${file}`, String(bytes), 30_000);
  });

  test('failSwapOn refuses a node with swap; without it static pods get none of the swap', async () => {
    await node.guest.check('dd if=/dev/zero of=/swap bs=1M count=64 2>/dev/null && chmod 600 /swap && mkswap -q /swap && swapon /swap');
    const { stdout } = await node.guest.run(
      `$(sed -n 's/^ExecStart=\\([^ ]*\\) .*/\\1/p' /etc/systemd/system/kubelet.service) --config=/etc/kubernetes/kubelet.json 2>&1 | tail -n 1`,
    );
    assert.match(stdout, /running with swap on is not supported/);
    await node.startKubelet({ failSwapOn: false, memorySwap: { swapBehavior: 'LimitedSwap' } });
    // Upstream takes every static pod for a critical one.
    await node.apply(burstable('critical'));
    assert.equal(await print(`${await containerOf('critical')}/memory.swap.max`), '0');
    await node.guest.check('swapoff /swap');
  });

  test('the limit of all pods follows the memory of the machine', async () => {
    await node.startKubelet({ systemReserved: { memory: '100Mi' } }, { timeFactor: 4 });
    const total = await memTotal();
    await node.untilPrints('cat /sys/fs/cgroup/kubepods.slice/memory.max', String(inPages(total - 100 * MiB)));
    await node.guest.check(
      `sed 's/^MemTotal:.*/MemTotal: ${total / 1024 - 65_536} kB/' /proc/meminfo > /run/meminfo && mount --bind /run/meminfo /proc/meminfo`,
    );
    try {
      await node.untilPrints('cat /sys/fs/cgroup/kubepods.slice/memory.max', String(inPages(total - 164 * MiB)), 120_000);
    } finally {
      await node.guest.check('umount /proc/meminfo');
    }
  });

  test('systemCgroups gets the processes of the root cgroup, and kubeletCgroups the kubelet', async () => {
    await node.guest.check(`sh -c 'echo $$ > /sys/fs/cgroup/cgroup.procs; exec sleep 1000' >/dev/null 2>&1 & sleep 0.5`);
    await node.startKubelet({ systemCgroups: '/stray', kubeletCgroups: '/own', cgroupRoot: '/', maxOpenFiles: 7000 });
    await node.untilPrints('cat /proc/$(cat /sys/fs/cgroup/stray/cgroup.procs)/comm', 'sleep', 60_000);
    await node.untilPrints('cut -d: -f3 /proc/$(systemctl show -p MainPID --value kubelet)/cgroup', '/own', 60_000);
    await node.untilPrints(`awk '/^Max open files/ {print $4, $5}' /proc/$(systemctl show -p MainPID --value kubelet)/limits`, '7000 7000');
  });
});
