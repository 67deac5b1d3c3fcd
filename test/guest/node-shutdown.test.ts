/** Shutdowns of a node with a real logind: the delay lock, the order in which pods end, a cancelled shutdown, and the loss of D-Bus and logind. */
import assert from 'node:assert/strict';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Guest } from '../../scripts/host/guest/guest.ts';
import { ensureControlPlane } from '../../scripts/host/programs/control-plane.ts';
import type { Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { GuestNode } from '../support/guest/guest-node.ts';
import { aBusybox, aManifest } from '../support/kubelet/test-node.ts';

const project = join(import.meta.dirname, '../..');
const programs = dirname((await ensureControlPlane(console.log)).kubectl);
const kubectl = `KUBECONFIG=/srv/cluster/admin.kubeconfig ${programs}/kubectl`;
const manager = 'org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager';
/** Far more time than the pods need on a busy host: each group ends with its last pod. */
const config = {
  shutdownGracePeriodByPodPriority: [
    { priority: 1_000_000_000, shutdownGracePeriodSeconds: 60 },
    { priority: 0, shutdownGracePeriodSeconds: 120 },
  ],
};

async function prepare(guest: Guest) {
  await guest.check(`
    ip link add node0 type dummy && ip addr add 192.168.77.2/24 dev node0 && ip link set node0 up && ip route add default via 192.168.77.1
    mkdir -p /srv/order`);
  const command = `KUBEBUILDER_ASSETS=${programs} ${project}/node_modules/.bin/node ${project}/test/support/guest/start-control-plane.ts /srv/cluster guest`;
  const { kubeconfig, configuration } = JSON.parse(await guest.check(command, { timeoutMs: 180_000 })) as {
    readonly kubeconfig: string;
    readonly configuration: object;
  };
  return { config: { ...configuration, readOnlyPort: 10_255 }, flags: [`--kubeconfig=${kubeconfig}`, '--node-ip=192.168.77.2'] };
}

const order: Partial<PodSpec> = { volumes: [{ name: 'order', hostPath: { path: '/srv/order' } }] };
const onTerm = (commands: string) => `trap '${commands}' TERM; while :; do sleep 1; done`;

describe('a shutdown of the node', () => {
  let node: GuestNode;
  before(async () => {
    node = await GuestNode.start({ containerd: '1.7', memory: '4G', share: [programs], config, prepare });
    await node.untilPrints(`${kubectl} get node guest -o 'jsonpath={.status.conditions[?(@.status=="True")].type}'`, 'Ready', 180_000);
  });
  after(() => node?.destroy());

  /** Creates a pod that the API server knows and that this node runs. */
  async function create(name: string, sh: string, spec: Partial<PodSpec> = {}): Promise<void> {
    const container = aBusybox({ sh, volumeMounts: [{ name: 'order', mountPath: '/order' }] });
    const fields = { nodeName: 'guest', enableServiceLinks: false, automountServiceAccountToken: false, containers: [container] };
    await node.guest.write(`/srv/${name}.json`, JSON.stringify(aManifest(name, { ...fields, ...order, ...spec })));
    await node.guest.check(`${kubectl} create -f /srv/${name}.json`, { timeoutMs: 120_000 });
  }
  const read = async (name: string) => JSON.parse(await node.guest.check(`${kubectl} get pod ${name} -o json`)) as Pod;
  const locks = "systemd-inhibit --list --no-legend --no-pager | grep -c 'kubelet .* shutdown .* delay'";
  const watches = "journalctl -q -u kubelet | grep -c 'Watching for shutdown events of the node'";

  test('is delayed by as long as the pods may take', async () => {
    await node.untilPrints(locks, '1');
    assert.equal(await node.guest.check(`busctl get-property ${manager} InhibitDelayMaxUSec`), 't 180000000');
    assert.match(await node.guest.check('cat /etc/systemd/logind.conf.d/99-kubelet.conf'), /^\[Login\]\nInhibitDelayMaxSec=180$/m);
  });

  test('that another user announces on D-Bus ends no pod', async () => {
    await create('kept', onTerm('exit 0'));
    await node.untilRunning('kept');
    const forged = 'busctl emit /org/freedesktop/login1 org.freedesktop.login1.Manager PrepareForShutdown b true';
    await node.guest.check(`runuser -u nobody -- ${forged} && ${forged}`);
    await create('admitted', onTerm('exit 0'));
    await node.untilRunning('admitted');
    await node.untilRunning('kept');
    await node.guest.check(`${kubectl} delete pod kept admitted --wait`, { timeoutMs: 120_000 });
  });

  test('ends pods in the order of their priority, and a cancelled one makes the node ready again', async () => {
    await create('worker', onTerm('echo worker asked >> /order/log; sleep 2; echo worker done >> /order/log; exit 0'), {
      terminationGracePeriodSeconds: 100,
    });
    await create('stubborn', "trap '' TERM; while :; do sleep 1; done", { terminationGracePeriodSeconds: 30 });
    await create('critical', onTerm('date +%s > /order/critical; echo critical asked >> /order/log; exit 3'), {
      priorityClassName: 'system-node-critical',
    });
    for (const name of ['worker', 'stubborn', 'critical']) await node.untilRunning(name);
    const ready = '{.status.conditions[?(@.type=="Ready")].message}';
    await node.guest.check(`${kubectl} get node guest -w -o 'jsonpath=${ready}{"\\n"}' > /run/ready 2>&1 &`);
    await node.guest.write(
      '/srv/late.json',
      JSON.stringify(aManifest('late', { nodeName: 'guest', containers: [aBusybox({ sh: 'sleep 100000' })] })),
    );

    // Masked meanwhile, the target can not be reached, and logind cancels the shutdown.
    await node.guest.check(`busctl call ${manager} PowerOff b false && systemctl mask --runtime poweroff.target`);
    await node.guest.check(`${kubectl} create -f /srv/late.json`, { timeoutMs: 60_000 });
    await node.untilPrints(`busctl get-property ${manager} PreparingForShutdown`, 'b false', 200_000);

    assert.equal(await node.guest.check('cat /srv/order/log'), 'worker asked\nworker done\ncritical asked');
    const stubbornEnd = (await read('stubborn')).status?.containerStatuses?.[0]?.state?.terminated;
    assert.equal(stubbornEnd?.exitCode, 137);
    assert.ok(Date.parse(String(stubbornEnd?.finishedAt)) <= Number(await node.guest.check('cat /srv/order/critical')) * 1000);
    for (const name of ['worker', 'stubborn', 'critical']) {
      const { status } = await read(name);
      const message = 'Pod was terminated in response to imminent node shutdown.';
      assert.deepEqual([status?.phase, status?.reason, status?.message], ['Failed', 'Terminated', message], name);
      const condition = status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
      assert.deepEqual([condition?.status, condition?.reason, condition?.message], ['True', 'TerminationByKubelet', message], name);
    }
    const late = (await read('late')).status;
    assert.deepEqual(
      [late?.phase, late?.reason, late?.message],
      ['Failed', 'NodeShutdown', 'Pod was rejected: Pod was rejected as the node is shutting down.'],
    );

    await node.untilPrints(locks, '1');
    await node.untilPrints('tail -n 1 /run/ready', 'kubelet is posting ready status');
    assert.match(await node.guest.check('cat /run/ready'), /^node is shutting down$/m);
    const events = `${kubectl} get events --field-selector involvedObject.kind=Node,reason=Shutdown -o 'jsonpath={.items[*].message}'`;
    await node.untilPrints(`${events} | grep -o 'shutdown [a-z]*' | sort | xargs echo`, 'shutdown cancellation shutdown event');
    const { startTime, endTime } = JSON.parse(await node.guest.check('cat /var/lib/kubelet/graceful_node_shutdown_state')) as Record<
      string,
      string
    >;
    const metric = (name: string) =>
      node.guest.check(
        `bash -c 'exec 3<>/dev/tcp/127.0.0.1/10255 && printf "GET /metrics HTTP/1.0\\r\\n\\r\\n" >&3 && cat <&3' | sed -n 's/^kubelet_graceful_shutdown_${name}_time_seconds //p'`,
      );
    const inSeconds = (time = '') => Math.floor(Date.parse(time) / 1000);
    assert.deepEqual([Number(await metric('start')), Number(await metric('end'))], [inSeconds(startTime), inSeconds(endTime)]);
    assert.ok(inSeconds(startTime) > 0 && inSeconds(endTime) >= inSeconds(startTime));

    await create('next', onTerm('exit 0'));
    await node.untilRunning('next');
  });

  test('is delayed again after D-Bus was killed, and pods survive that', async () => {
    const before = (await node.untilRunning('next')).status?.containerStatuses;
    const count = Number(await node.guest.check(watches));
    await node.guest.check('systemctl kill --kill-who=main -s KILL dbus');
    await node.untilPrints(watches, String(count + 1), 90_000);
    await node.untilPrints(locks, '1');
    assert.deepEqual((await node.untilRunning('next')).status?.containerStatuses, before);
  });

  test('is not delayed without logind, which the log says once, and is when logind is back', async () => {
    await node.guest.check('systemctl mask --runtime --now systemd-logind && systemctl restart kubelet');
    const failures =
      "journalctl -q -u kubelet _PID=$(systemctl show --value -p MainPID kubelet) | grep -c 'Failed to start node shutdown manager'";
    await node.untilPrints(failures, '1', 90_000);
    await node.untilRunning('next');
    assert.equal(await node.guest.check(failures), '1');
    await node.guest.check('systemctl unmask --runtime systemd-logind && systemctl start systemd-logind');
    await node.untilPrints(locks, '1', 90_000);
    await node.untilRunning('next');
  });
});
