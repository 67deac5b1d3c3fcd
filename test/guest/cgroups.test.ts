/** The cgroups of pods and of the node on cgroup v2 with systemd's driver. What both drivers must do is in cgroup-drivers.test.ts. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { burstableSlice, countPodSlices, limitedPod, limitedValues, valuesOf } from '../support/guest/cgroup-values.ts';
import { GuestNode } from '../support/guest/guest-node.ts';

const config = {
  podPidsLimit: 100,
  kubeReserved: { cpu: '100m', memory: '100Mi' },
  kubeReservedCgroup: '/kube.slice',
  enforceNodeAllocatable: ['pods', 'kube-reserved'],
};
describe('cgroup v2', () => {
  let node: GuestNode;
  before(async () => {
    node = await GuestNode.start({
      config,
      prepare: async (guest) => {
        await guest.check('systemctl start kube.slice');
        return {};
      },
    });
  });
  after(() => node?.destroy());
  // A test that fails leaves its pods behind.
  afterEach(() => node.guest.check('rm -f /etc/kubernetes/manifests/*').then(() => node.untilPrints(countPodSlices, '0')));

  test('a pod’s containers have the limits of its slice at every moment, also after a reload of systemd; it is gone after the pod', async () => {
    const { guest } = node;
    // Every value of the limit while the pod has a container, once each. The runtime may start the sandbox's own process a moment before the limit is set.
    const sample = `[ $(ls -d ${burstableSlice}/*-pod*.slice/*.scope | wc -l) -ge 2 ] && cat ${burstableSlice}/*-pod*.slice/memory.max`;
    await guest.check(`(until [ -e /run/stop ]; do ${sample}; sleep 0.02; done | uniq > /run/seen) >/dev/null 2>&1 &`);
    await node.apply(limitedPod('web'));
    await node.untilRunning('web');
    assert.equal(await guest.check(valuesOf(`${burstableSlice}/*-pod*.slice`)), limitedValues);
    await guest.check('systemctl daemon-reload');
    assert.equal(await guest.check(valuesOf(`${burstableSlice}/*-pod*.slice`)), limitedValues);
    await guest.check('touch /run/stop');
    await node.untilPrints('cat /run/seen', '67108864');
    await node.delete('web');
    await node.untilPrints(countPodSlices, '0');
    await node.untilPrints(`ls ${burstableSlice} | grep -c pod`, '0');
  });

  test('the limits of all pods and of Kubernetes’ daemons are those of the configuration', async () => {
    const total = Number(await node.guest.check(`awk '/^MemTotal/ {print $2}' /proc/meminfo`)) * 1024;
    const reserved = 100 * 2 ** 20;
    const read = (file: string) => node.guest.check(`cat /sys/fs/cgroup/${file}`);
    await node.untilPrints('cat /sys/fs/cgroup/kubepods.slice/memory.max', String(total - reserved));
    assert.equal(await read('kubepods.slice/cpu.weight'), '36');
    assert.equal(await read('kube.slice/memory.max'), String(reserved));
    assert.equal(await read('kube.slice/cpu.weight'), '4');
  });

  test('while D-Bus hangs a new pod has a clear error; it starts when D-Bus continues', async () => {
    const { guest } = node;
    const inJournal = (text: string) => `journalctl -q -o cat -u kubelet | grep -o -m1 '${text}'`;
    // Systemd itself waits for the bus then, also on its own socket.
    await guest.check('systemctl daemon-reexec && pkill -STOP dbus-daemon');
    try {
      await node.apply(limitedPod('hung'));
      await node.untilPrints(inJournal('reason="FailedCreatePodContainer"'), 'reason="FailedCreatePodContainer"');
    } finally {
      await guest.check('pkill -CONT dbus-daemon');
    }
    await node.untilRunning('hung');
    assert.equal(await guest.check(valuesOf(`${burstableSlice}/*-pod*.slice`)), limitedValues);
    assert.equal((await guest.run(inJournal('Uncaught fault'))).stdout, '');
  });

  test('the slice of a pod that nobody knows is removed with the processes in it', async () => {
    await node.guest.check(
      `systemctl start kubepods-podorphan.slice; d=/sys/fs/cgroup/kubepods.slice/kubepods-podorphan.slice; mkdir $d/left
       sh -c "echo \\$\\$ > $d/left/cgroup.procs; exec sleep 1000" >/dev/null 2>&1 & sleep 0.5; grep -q . $d/left/cgroup.procs`,
    );
    await node.startKubelet(config);
    await node.untilPrints(countPodSlices, '0');
  });
});
