/** Cgroups of pods on cgroup v2 when others interfere: an earlier kubelet, other tools, D-Bus, and the containers themselves. */
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { burstableSlice, countPodSlices, limitedPod, limitedValues, valuesOf } from '../support/guest/cgroup-values.ts';
import { GuestNode, statusOf } from '../support/guest/guest-node.ts';

const config = { podPidsLimit: 100 };
const sliceOf = (uid: string) => `kubepods-burstable-pod${uid.replaceAll('-', '_')}.slice`;
const manager = 'org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager';
/** As the Go kubelet starts a pod's slice. */
const startSlice = (slice: string) =>
  `busctl call ${manager} StartTransientUnit 'ssa(sv)a(sa(sv))' ${slice} replace 1 DefaultDependencies b false 0`;

describe('cgroups that others change', () => {
  let node: GuestNode;
  before(async () => {
    node = await GuestNode.start({ config });
  });
  after(() => node?.destroy());
  // A test that fails leaves its pods behind. Housekeeping finds a slice that the runtime has started again within a minute.
  afterEach(() => node.guest.check('rm -f /etc/kubernetes/manifests/*').then(() => node.untilPrints(countPodSlices, '0', 90_000)));

  const startInStoppedSlice = async (uid: string, whileItStops: (slice: string) => string) => {
    const slice = sliceOf(uid);
    const scope = `stubborn-${uid}.scope`;
    // A process that does not ignore SIGTERM yet ends with the stop.
    const ready = `/run/${scope}.ready`;
    await node.guest.check(
      `${startSlice(slice)} && (systemd-run --scope --slice=${slice} --unit=${scope} sh -c 'trap "" TERM; touch ${ready}; while :; do sleep 1; done' >/dev/null 2>&1 &)
       until [ -e ${ready} ]; do sleep 0.1; done; systemctl stop --no-block ${slice}; ${whileItStops(slice)}`,
    );
    await node.apply(limitedPod('left', uid));
    await node.untilRunning('left');
    assert.equal(await node.guest.check(valuesOf(`${burstableSlice}/${slice}`)), limitedValues);
    await node.guest.check(`systemctl kill -s KILL ${scope} || true`);
  };
  const listJob = (slice: string, type: string) => `systemctl list-jobs --full --no-legend | grep -Eq '${slice} +${type}'`;

  test('a pod starts in the slice that another kubelet has stopped and that waits for a process', () =>
    startInStoppedSlice('left-1', (slice) => listJob(slice, 'stop')));

  // As by a runtime that starts the sandbox before the kubelet has seen the stop.
  test('a pod starts in a slice that waits for a process and whose stop a start has replaced', () =>
    startInStoppedSlice('left-0', (slice) => `systemctl start --no-block ${slice}; ${listJob(slice, 'start')}`));

  test('a pod starts in a slice that is stopped and still loaded', async () => {
    const slice = sliceOf('left-2');
    await node.guest.check(
      `${startSlice(slice)} && systemd-run -q --unit=holder -p After=${slice} sleep 1000 && systemctl stop ${slice}
       systemctl show -p LoadState,ActiveState --value ${slice} | tr '\\n' ' ' | grep -q 'loaded inactive'`,
    );
    await node.apply(limitedPod('left', 'left-2'));
    await node.untilRunning('left');
    assert.equal(await node.guest.check(valuesOf(`${burstableSlice}/${slice}`)), limitedValues);
    await node.guest.check('systemctl stop holder');
  });

  test('a pod starts when its slice is active and its cgroup is gone', async () => {
    const slice = sliceOf('left-3');
    // The start is a job of systemd, which makes the cgroup a moment later.
    const folder = `${burstableSlice}/${slice}`;
    await node.guest.check(
      `${startSlice(slice)} && for i in $(seq 50); do rmdir ${folder} 2>/dev/null && break; sleep 0.1; done; [ ! -e ${folder} ]`,
    );
    await node.apply(limitedPod('left', 'left-3'));
    await node.untilRunning('left');
    assert.equal(await node.guest.check(valuesOf(`${burstableSlice}/${slice}`)), limitedValues);
  });

  test('a pod starts again while its own slice is still being removed', async () => {
    await node.apply(limitedPod('again', 'again-1'));
    await node.untilRunning('again');
    for (let round = 0; round < 3; round += 1) {
      await node.delete('again');
      await node.apply(limitedPod('again', 'again-1'));
      await node.untilRunning('again');
    }
    assert.equal(await node.guest.check(valuesOf(`${burstableSlice}/${sliceOf('again-1')}`)), limitedValues);
  });

  test('pods start and end while D-Bus is killed again and again', async () => {
    await node.guest.check('(until [ -e /run/calm ]; do pkill -KILL dbus-daemon; sleep 3; done) >/dev/null 2>&1 &');
    await node.apply(limitedPod('first'));
    await node.apply(limitedPod('second'));
    await Promise.race([node.untilRunning('first').catch(() => {}), node.untilRunning('second').catch(() => {})]);
    await node.guest.check('touch /run/calm; sleep 3; systemctl reset-failed dbus.service dbus.socket; systemctl start dbus.socket dbus');
    await node.untilRunning('first');
    await node.untilRunning('second');
    const folders = await node.guest.check(`ls -d ${burstableSlice}/*-pod*.slice`);
    for (const folder of folders.split('\n')) assert.equal(await node.guest.check(valuesOf(folder)), limitedValues);
    assert.equal((await node.guest.run("journalctl -q -o cat -u kubelet | grep -m1 'Uncaught fault'")).stdout, '');
  });

  test('what another tool changes is set again: of the levels within a minute, of a pod with its next container', async () => {
    await node.startKubelet(config, { timeFactor: 4 });
    await node.apply(limitedPod('web', 'web-1'));
    const pod = await node.untilRunning('web');
    const slice = sliceOf('web-1');
    await node.guest.check(`systemctl set-property --runtime kubepods-burstable.slice CPUWeight=77`);
    await node.guest.check(`systemctl set-property --runtime ${slice} MemoryMax=1G TasksMax=7000`);
    await node.untilPrints(`cat ${burstableSlice}/cpu.weight`, '4', 90_000);
    const id = statusOf(pod)?.containerID?.split('//')[1] ?? '';
    await node.guest.check(`ctr -n k8s.io tasks kill -s SIGKILL ${id}`);
    await node.until(
      'web',
      'has restarted',
      (restarted) => (statusOf(restarted)?.restartCount ?? 0) > 0 && statusOf(restarted)?.ready === true,
    );
    assert.equal(await node.guest.check(valuesOf(`${burstableSlice}/${slice}`)), limitedValues);
  });
});
