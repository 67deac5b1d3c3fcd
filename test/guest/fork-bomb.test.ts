/**
 * A fork bomb beside other pods. With podPidsLimit it only gets its own process IDs; without, it takes those of the whole node until the kubelet evicts
 * it. Nothing can be started in the guest meanwhile, so the node is watched by a process that runs already.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Guest } from '../../lab/guest/guest.ts';
import type { EvictionPlan } from '../../src/shared/contracts/eviction.ts';
import { SmallCluster, type NodeState } from '../support/guest/small-cluster.ts';
import type { PodStatus } from '../../src/shared/kubernetes/api.ts';
import { GuestNode } from '../support/guest/guest-node.ts';
import { aBusybox, aManifest } from '../support/kubelet/test-node.ts';
import { waitUntil } from '../support/runtime/simulated-runtime.ts';

const project = join(import.meta.dirname, '../..');
const bystanders = 25;
/** The node itself with its pods needs some seven hundred. */
const pidMax = 3000;
const podPidsLimit = 200;
/** More than the node has without a bomb. */
const bombedTasks = 1200;
/** Evicted when fewer than 1,200 of the 3,000 are left. */
const evictionHard = { 'pid.available': '40%' };
// The shells stay, and never wait for their children, so that no ID becomes free. The others take each ID that does.
const bomb = `
  mkfifo /wait; exec 9<> /wait
  bomb() { bomb & bomb & read never <&9; }
  for i in 1 2; do awk 'BEGIN { while (1) system(": &") }' & done
  bomb & read never <&9`;

async function prepareSystemd(guest: Guest): Promise<void> {
  // Debian's systemd would limit each container to 15 % of the IDs.
  await guest.write('/etc/systemd/system.conf.d/10-tasks.conf', '[Manager]\nDefaultTasksMax=infinity\n');
  await guest.check(`echo ${pidMax} > /proc/sys/kernel/pid_max`);
}

const kubeletProcess = 'systemctl show kubelet -p MainPID -p NRestarts';

/** In the host's network pods start in a third of the time. */
function aPod(name: string, sh: string): object {
  const spec = {
    nodeName: 'guest',
    hostNetwork: true,
    restartPolicy: 'Always',
    dnsPolicy: 'Default',
    enableServiceLinks: false,
    automountServiceAccountToken: false,
  } as const;
  const container = { ...aBusybox({ sh }), imagePullPolicy: 'IfNotPresent', terminationMessagePath: '/dev/termination-log' } as const;
  return aManifest(
    name,
    { ...spec, containers: [container] },
    { namespace: 'default', uid: name, creationTimestamp: new Date().toISOString() },
  );
}

const quietPods = ({ pods }: NodeState) => Object.entries(pods).flatMap(([name, status]) => (name.startsWith('quiet-') ? [status] : []));
const isReady = ({ phase, containerStatuses = [] }: PodStatus) => phase === 'Running' && containerStatuses.every(({ ready }) => ready);
const areAllReady = (state: NodeState) => quietPods(state).filter(isReady).length === bystanders;
/** On a busy host containers are restarted while all pods start. */
const restarts = (state: NodeState | undefined) =>
  (state ? quietPods(state) : []).flatMap(({ containerStatuses = [] }) => containerStatuses.map(({ restartCount }) => restartCount)).join();

/** Since the bomb has begun to fork. */
function assertHealthy(states: readonly NodeState[]): void {
  const first = states.findIndex(({ tasks }) => tasks > bombedTasks);
  assert.deepEqual(
    states
      .slice(Math.max(first, 0))
      .filter(({ health }) => health !== '200')
      .map(({ at, health }) => [at, health]),
    [],
  );
}

describe('a fork bomb beside other pods', () => {
  let node: GuestNode;
  let cluster: SmallCluster;
  before(async () => {
    const prepare = async (guest: Guest) => {
      await prepareSystemd(guest);
      const started = await SmallCluster.start(guest);
      ({ cluster } = started);
      return { flags: started.flags };
    };
    node = await GuestNode.start({ containerd: '1.7', memory: '4G', config: { evictionHard, podPidsLimit }, prepare });
    for (let index = 0; index < bystanders; index += 1) cluster.create(aPod(`quiet-${index}`, 'exec sleep 100000'));
    await cluster.until('the other pods run', areAllReady, 400_000);
  });
  after(() => node?.destroy());

  test('is confined to its pod by podPidsLimit: nothing is evicted', async () => {
    const kubelet = await node.guest.check(kubeletProcess);
    const [first] = await cluster.until('the node is healthy', ({ health }) => health === '200', 60_000);
    cluster.create(aPod('confined', bomb));
    const slice = '/sys/fs/cgroup/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podconfined.slice';
    await node.untilPrints(`cat ${slice}/pids.peak`, String(podPidsLimit), 120_000);
    const exhaustedAtMs = Date.now();
    let plan: EvictionPlan | undefined;
    const hasDecided = async () => {
      plan = JSON.parse(await node.guest.check(`${project}/bin/kubelet eviction --json`)) as EvictionPlan;
      return Date.parse(plan.lastPassAt ?? '') > exhaustedAtMs;
    };
    await waitUntil('the eviction manager has seen the bomb', hasDecided, 90_000);
    const { available = 0 } = plan?.signals.find(({ signal }) => signal === 'pid.available') ?? {};
    assert.ok(available > pidMax * 0.4, `${available} IDs are left`);
    assert.equal(plan?.action, null);
    const states = await cluster.until('the bomb goes on', () => true, 60_000);
    assert.equal(states.at(-1)?.pods['confined']?.phase, 'Running');
    assertHealthy(states);
    assert.ok(states.every(areAllReady));
    assert.equal(restarts(states.at(-1)), restarts(first));
    assert.equal(await node.guest.check(kubeletProcess), kubelet);
    cluster.delete('confined');
    await cluster.until('the bomb is gone', ({ pods }) => pods['confined'] === undefined, 90_000);
  });

  test('is evicted without a limit, and no other pod; the kubelet stays healthy', async () => {
    await node.startKubelet({ evictionHard });
    const kubelet = await node.guest.check(kubeletProcess);
    await cluster.until('the node is healthy', ({ health }) => health === '200', 60_000);
    cluster.create(aPod('bomb', bomb));
    const states = await cluster.until('the bomb is evicted', ({ pods }) => pods['bomb']?.phase === 'Failed', 180_000);
    const { reason, message = '' } = states.at(-1)?.pods['bomb'] ?? {};
    assert.equal(reason, 'Evicted');
    assert.match(message, /^The node was low on resource: pids\. Threshold quantity: 1200, available: \d+\. $/);
    // A shim of containerd dies when it can start no thread, and its pod with it. That pod starts again.
    const later = await cluster.until('the other pods run again', areAllReady, 120_000);
    assertHealthy([...states, ...later]);
    const ends = [...states, ...later].flatMap(quietPods).flatMap(({ phase, message: why }) => (phase === 'Failed' ? [why] : []));
    assert.deepEqual([...new Set(ends)], []);
    assert.equal(await node.guest.check(kubeletProcess), kubelet);
  });
});
