/** The kubelet as a unit of systemd: readiness, the watchdog, restarts, limits, and its lines in the journal. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { GuestNode, statusOf } from '../support/guest/guest-node.ts';
import { aBusybox, aManifest } from '../support/kubelet/test-node.ts';

const limits = { maxOpenFiles: 200_000, memoryBytes: 900 * 1024 * 1024 };
const dropIn = `[Service]
Type=notify
WatchdogSec=20s
LimitNOFILE=65536
MemoryMax=${limits.memoryBytes}
`;

describe('the kubelet as a unit of Type=notify', () => {
  let node: GuestNode;
  before(async () => {
    node = await GuestNode.start({
      // The kubelet warns that podCIDR has no effect.
      config: { maxOpenFiles: limits.maxOpenFiles, podCIDR: '10.88.0.0/16' },
      prepare: async (guest) => {
        await guest.write('/etc/systemd/system/kubelet.service.d/10-test.conf', dropIn);
        return {};
      },
    });
    await node.apply(aManifest('kept', { containers: [aBusybox()] }));
    await node.untilRunning('kept');
  });
  after(() => node?.destroy());

  const show = (property: string) => node.guest.check(`systemctl show --value -p ${property} kubelet`);
  const container = async () => {
    const { containerID, restartCount } = statusOf(await node.untilRunning('kept')) ?? {};
    return { containerID, restartCount };
  };
  /** Waits for the main process that follows another one. */
  const untilReplaced = (pid: string) =>
    node.untilPrints(`test $(systemctl show --value -p MainPID kubelet) != ${pid} && systemctl is-active kubelet`, 'active', 180_000);

  test('is started when it is ready, and not while it waits for the runtime', async () => {
    await node.guest.check('systemctl stop kubelet && systemctl stop containerd');
    await node.guest.check('systemctl start --no-block kubelet');
    await node.untilPrints("bash -c 'exec 3<>/dev/tcp/127.0.0.1/10248 && echo serves'", 'serves', 60_000);
    assert.equal(await show('ActiveState'), 'activating');
    await node.untilPrints('journalctl -q -u kubelet | grep -q "Container runtime sanity check failed" && echo said', 'said');
    await node.guest.check('systemctl start containerd && systemctl start kubelet');
    assert.equal(await show('ActiveState'), 'active');
    await node.untilRunning('kept');
  });

  test('has the limits of its unit, and maxOpenFiles', async () => {
    const open = await node.guest.check(`awk '/^Max open files/ {print $4, $5}' /proc/${await show('MainPID')}/limits`);
    assert.equal(open, `${limits.maxOpenFiles} ${limits.maxOpenFiles}`);
    const folder = `/sys/fs/cgroup/system.slice/kubelet.service`;
    assert.equal(await node.guest.check(`cat ${folder}/memory.max`), String(limits.memoryBytes));
    assert.match(await node.guest.check(`cat ${folder}/memory.events`), /^oom_kill 0$/m);
  });

  test('reports its reloads', async () => {
    const changed = 'systemctl show --value -p StateChangeTimestampMonotonic kubelet';
    const last = await node.guest.check(changed);
    // Without the notifications the unit would stay in its state.
    await node.guest.check(`kill -HUP ${await show('MainPID')}`);
    await node.untilPrints(`test $(${changed}) -gt ${last} && systemctl is-active kubelet`, 'active');
  });

  test('touches no container when systemctl restarts it, and when it is killed', async () => {
    const before = await container();
    const first = await show('MainPID');
    await node.guest.check('systemctl restart kubelet');
    assert.equal(await show('ExecMainStatus'), '0');
    const second = await show('MainPID');
    assert.notEqual(second, first);
    await node.guest.check(`kill -9 ${second}`);
    await untilReplaced(second);
    assert.deepEqual(await container(), before);
  });

  test('that hangs is restarted by the watchdog, and its pods survive', async () => {
    const before = await container();
    const stopped = await show('MainPID');
    await node.guest.check(`kill -STOP ${stopped}`);
    await untilReplaced(stopped);
    await node.untilPrints('journalctl -q -u kubelet | grep -c "Watchdog timeout"', '1');
    assert.deepEqual(await container(), before);
  });

  test('notifies the watchdog while it works', async () => {
    const [running, last] = [await show('MainPID'), await show('WatchdogTimestampMonotonic')];
    await node.untilPrints(
      `test $(systemctl show --value -p WatchdogTimestampMonotonic kubelet) -gt ${last} && echo later`,
      'later',
      90_000,
    );
    assert.equal(await show('MainPID'), running);
  });

  test('has lines of the right priority in the journal', async () => {
    const output = await node.guest.check('journalctl -q -u kubelet _TRANSPORT=stdout -o json --output-fields=PRIORITY,MESSAGE');
    const entries = output.split('\n').map((line) => JSON.parse(line) as { PRIORITY: string; MESSAGE: string });
    const priorityOf = new Map([
      ['E', '3'],
      ['W', '4'],
      ['I', '6'],
    ]);
    const lines = entries.flatMap(({ PRIORITY, MESSAGE }) => {
      const letter = /^([EWI])\d{4} /.exec(MESSAGE)?.[1];
      return letter === undefined ? [] : [{ letter, PRIORITY, MESSAGE }];
    });
    for (const { letter, PRIORITY, MESSAGE } of lines) assert.equal(PRIORITY, priorityOf.get(letter), MESSAGE);
    assert.deepEqual(new Set(lines.map(({ letter }) => letter)), new Set(priorityOf.keys()));
    assert.deepEqual(
      entries.filter(({ MESSAGE }) => MESSAGE.startsWith('<')),
      [],
    );
  });
});
