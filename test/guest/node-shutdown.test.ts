/** Shutdowns of a node with a real logind: the delay lock, the order in which pods end, a cancelled shutdown, and the loss of D-Bus and logind. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Node } from '../../src/main/node/node-object.ts';
import type { Pod, PodSpec } from '../../src/shared/kubernetes/api.ts';
import { isRunning } from '../support/cluster/pod-watch.ts';
import { GuestCluster, onNode } from '../support/guest/guest-cluster.ts';
import { GuestNode } from '../support/guest/guest-node.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const manager = 'org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager';
/** Far more time than the pods need on a busy host: each group ends with its last pod. */
const config = {
  shutdownGracePeriodByPodPriority: [
    { priority: 1_000_000_000, shutdownGracePeriodSeconds: 60 },
    { priority: 0, shutdownGracePeriodSeconds: 120 },
  ],
};

const order: Partial<PodSpec> = { volumes: [{ name: 'order', hostPath: { path: '/srv/order', type: 'DirectoryOrCreate' } }] };
const volumeMounts = [{ name: 'order', mountPath: '/order' }];
const onTerm = (commands: string) => `trap '${commands}' TERM; while :; do sleep 1; done`;

describe('a shutdown of the node', () => {
  let cluster: GuestCluster;
  let node: GuestNode;
  before(async () => {
    cluster = await GuestCluster.start();
    node = await GuestNode.start({
      containerd: '1.7',
      share: [cluster.folder],
      config,
      prepare: () => Promise.resolve(cluster.member()),
    });
    await cluster.untilConditions('Ready');
  });
  after(async () => {
    await node?.destroy();
    await cluster?.destroy();
  });

  /** Creates a pod that this node runs. */
  const create = (name: string, sh: string, spec: Partial<PodSpec> = {}) =>
    cluster.create(onNode(name, { sh, volumeMounts }, { ...order, ...spec }));
  const untilRunning = (name: string) => cluster.pods.until(name, 'runs', isRunning);
  const read = (name: string) => cluster.api.get<Pod>(`/api/v1/namespaces/default/pods/${name}`);
  const locks = "systemd-inhibit --list --no-legend --no-pager | grep -c 'kubelet .* shutdown .* delay'";
  const watches = "journalctl -q -u kubelet | grep -c 'Watching for shutdown events of the node'";

  test('is delayed by as long as the pods may take', async () => {
    await node.untilPrints(locks, '1');
    assert.equal(await node.guest.check(`busctl get-property ${manager} InhibitDelayMaxUSec`), 't 180000000');
    assert.match(await node.guest.check('cat /etc/systemd/logind.conf.d/99-kubelet.conf'), /^\[Login\]\nInhibitDelayMaxSec=180$/m);
  });

  test('that another user announces on D-Bus ends no pod', async () => {
    await create('kept', onTerm('exit 0'));
    await untilRunning('kept');
    const forged = 'busctl emit /org/freedesktop/login1 org.freedesktop.login1.Manager PrepareForShutdown b true';
    await node.guest.check(`setpriv --reuid=nobody --regid=nogroup --clear-groups ${forged} && ${forged}`);
    // A signal to the kubelet alone passes each match rule.
    const names = await node.guest.check(
      "busctl list --unique --no-legend | awk '$2 == pid { print $1 }' pid=$(systemctl show -P MainPID kubelet)",
    );
    assert.notEqual(names, '');
    for (const name of names.split('\n')) {
      const directed = forged.replace('busctl', `busctl --destination=${name}`);
      await node.guest.check(`setpriv --reuid=nobody --regid=nogroup --clear-groups ${directed} && ${directed}`);
    }
    await create('admitted', onTerm('exit 0'));
    await untilRunning('admitted');
    await untilRunning('kept');
    for (const name of ['kept', 'admitted']) {
      await cluster.pods.delete(name);
      await cluster.pods.untilGone(name);
    }
  });

  test('ends pods in the order of their priority, and a cancelled one makes the node ready again', async () => {
    await create('worker', onTerm('echo worker asked >> /order/log; sleep 2; echo worker done >> /order/log; exit 0'), {
      terminationGracePeriodSeconds: 100,
    });
    await create('stubborn', "trap '' TERM; while :; do sleep 1; done", { terminationGracePeriodSeconds: 30 });
    await create('critical', onTerm('date +%s > /order/critical; echo critical asked >> /order/log; exit 3'), {
      priorityClassName: 'system-node-critical',
    });
    for (const name of ['worker', 'stubborn', 'critical']) await untilRunning(name);
    const readiness: (string | undefined)[] = [];
    const isReadyAgain = ({ status }: Node) => {
      const { message } = status?.conditions?.find(({ type }) => type === 'Ready') ?? {};
      readiness.push(message);
      return message === 'kubelet is posting ready status' && readiness.includes('node is shutting down');
    };
    const readyAgain = cluster.untilNode('is ready again after a shutdown', isReadyAgain, 300_000);

    // Masked meanwhile, the target can not be reached, and logind cancels the shutdown.
    await node.guest.check(`busctl call ${manager} PowerOff b false && systemctl mask --runtime poweroff.target`);
    await cluster.create(onNode('late', { sh: 'sleep 100000' }));
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
    await readyAgain;
    const path = '/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind%3DNode%2Creason%3DShutdown';
    const shutdowns = async () => (await cluster.api.get<{ items: { message: string }[] }>(path)).items.map(({ message }) => message);
    const kinds = async () => (await shutdowns()).flatMap((message) => message.match(/shutdown [a-z]*/) ?? []);
    await waitUntil('both events are there', async () => (await kinds()).length === 2);
    assert.deepEqual(new Set(await kinds()), new Set(['shutdown cancellation', 'shutdown event']));
    const { startTime, endTime } = JSON.parse(await node.guest.check('cat /var/lib/kubelet/graceful_node_shutdown_state')) as Record<
      string,
      string
    >;
    const metrics = await node.get('/metrics');
    const metric = (name: string) => new RegExp(`^kubelet_graceful_shutdown_${name}_time_seconds (\\S+)$`, 'm').exec(metrics)?.[1];
    const inSeconds = (time = '') => Math.floor(Date.parse(time) / 1000);
    assert.deepEqual([Number(metric('start')), Number(metric('end'))], [inSeconds(startTime), inSeconds(endTime)]);
    assert.ok(inSeconds(startTime) > 0 && inSeconds(endTime) >= inSeconds(startTime));

    await create('next', onTerm('exit 0'));
    await untilRunning('next');
  });

  test('is delayed again after D-Bus was killed, and pods survive that', async () => {
    const before = (await untilRunning('next')).status?.containerStatuses;
    const count = Number(await node.guest.check(watches));
    await node.guest.check('systemctl kill --kill-who=main -s KILL dbus');
    await node.untilPrints(watches, String(count + 1), 90_000);
    await node.untilPrints(locks, '1');
    assert.deepEqual((await untilRunning('next')).status?.containerStatuses, before);
  });

  test('is not delayed without logind, which the log says once, and is when logind is back', async () => {
    await node.guest.check('systemctl mask --runtime --now systemd-logind && systemctl restart kubelet');
    const failures =
      "journalctl -q -u kubelet _PID=$(systemctl show --value -p MainPID kubelet) | grep -c 'Failed to start node shutdown manager'";
    await node.untilPrints(failures, '1', 90_000);
    await untilRunning('next');
    assert.equal(await node.guest.check(failures), '1');
    await node.guest.check('systemctl unmask --runtime systemd-logind && systemctl start systemd-logind');
    await node.untilPrints(locks, '1', 90_000);
    await untilRunning('next');
  });
});
