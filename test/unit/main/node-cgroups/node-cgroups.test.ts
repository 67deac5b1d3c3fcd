import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AllocatedPod } from '../../../../src/main/allocation/index.ts';
import { computeFeatureGates } from '../../../../src/main/config/feature-gates.ts';
import { NodeCgroups } from '../../../../src/main/node-cgroups/index.ts';
import type { SyncCgroupsTask } from '../../../../src/shared/contracts/pod-sync/cgroups.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { silentLogger } from '../../../support/logger.ts';
import { aMachine } from '../../../support/pods/local-node-status.ts';
import { aContainer, aPod } from '../../../support/pods/pod-sync-samples.ts';

const burstable = (uid: string, cpu: string) => aPod({ containers: [aContainer('app', { resources: { requests: { cpu } } })] }, { uid });

function aNode() {
  const clock = new FakeClock();
  const node = {
    clock,
    pods: [] as AllocatedPod[],
    machine: aMachine({ numCores: 2 }),
    tasks: [] as SyncCgroupsTask[],
    /** The errors of the next tasks: for each change of a task its error. */
    failure: null as string | null,
    /** Resolves the first update of the levels, the second task; by default it ends at once. */
    hold: null as Promise<void> | null,
    events: [] as string[],
    shares: () => node.tasks.at(-1)?.cgroups.find(({ cgroup }) => cgroup[1] === 'burstable')?.resources.cpuShares,
    cgroups: undefined as unknown as NodeCgroups,
  };
  node.cgroups = new NodeCgroups({
    config: {
      cgroupRoot: '/',
      cgroupsPerQOS: true,
      enforceNodeAllocatable: ['pods'],
      kubeReserved: {},
      kubeReservedCgroup: '',
      systemReserved: {},
      systemReservedCgroup: '',
      qosReserved: {},
      memoryReservationPolicy: 'None',
    },
    featureGates: computeFeatureGates({}).gates,
    cgroupVersion: 1,
    machine: () => node.machine,
    activePods: () => node.pods,
    syncCgroups: async (task) => {
      node.tasks.push(task);
      if (node.tasks.length === 2) await node.hold;
      return { failures: task.cgroups.map(() => node.failure) };
    },
    nodeName: 'n1',
    events: { record: ({ reason, message }) => void node.events.push(`${reason}: ${message}`) },
    clock,
    logger: silentLogger,
  });
  return node;
}

test('the limit of all pods is set and reported, then the QoS levels', async () => {
  const node = aNode();
  node.pods = [burstable('a', '500m')];
  node.cgroups.start();
  await node.clock.advance(0);
  assert.deepEqual(node.events, ['NodeAllocatableEnforced: Updated Node Allocatable limit across pods']);
  assert.equal(node.tasks[0]?.cgroups[0]?.resources.cpuShares, 2048);
  assert.equal(node.shares(), 512);
  node.cgroups.close();
});

test('a burst of pods is one update, and pods that change nothing are none', async () => {
  const node = aNode();
  node.cgroups.start();
  await node.clock.advance(0);
  const before = node.tasks.length;
  node.pods = [burstable('a', '500m'), burstable('b', '250m')];
  node.cgroups.onPodsChanged();
  node.cgroups.onPodsChanged();
  await node.clock.advance(1000);
  assert.equal(node.shares(), 768);
  node.pods = [...node.pods, aPod()];
  node.cgroups.onPodsChanged();
  await node.clock.advance(1000);
  assert.equal(node.tasks.length, before + 1);
  node.cgroups.close();
});

test('pods that come during the first update of the levels cause one more', async () => {
  const node = aNode();
  const held = Promise.withResolvers<void>();
  node.hold = held.promise;
  node.cgroups.onPodsChanged();
  node.cgroups.start();
  await node.clock.advance(0);
  assert.equal(node.tasks.length, 2);
  node.pods = [burstable('a', '500m')];
  node.cgroups.onPodsChanged();
  held.resolve();
  await node.clock.advance(1000);
  assert.equal(node.shares(), 512);
  node.cgroups.close();
});

test('every minute the levels are set again, against changes from outside', async () => {
  const node = aNode();
  node.cgroups.start();
  await node.clock.advance(0);
  const before = node.tasks.length;
  await node.clock.advance(60_000);
  assert.equal(node.tasks.length, before + 1);
  node.cgroups.close();
});

test('a limit that is refused is reported and set again after a minute', async () => {
  const node = aNode();
  node.failure = 'busy';
  node.cgroups.start();
  await node.clock.advance(0);
  node.failure = null;
  await node.clock.advance(60_000);
  assert.deepEqual(node.events, [
    'FailedNodeAllocatableEnforcement: Failed to update Node Allocatable Limits ["kubepods"]: busy',
    'NodeAllocatableEnforced: Updated Node Allocatable limit across pods',
  ]);
  node.cgroups.close();
});

test('only the levels below that of all pods may be limited to their usage', async () => {
  const node = aNode();
  node.cgroups.start();
  await node.clock.advance(0);
  const levels = node.tasks.at(-1)!.cgroups.map(({ cgroup, memoryAtLeastUsage }) => `${String(cgroup)} ${memoryAtLeastUsage}`);
  assert.deepEqual(levels, ['kubepods false', 'kubepods,burstable true', 'kubepods,besteffort true']);
  node.cgroups.close();
});

test('when the machine has more CPUs, the pods may use them', async () => {
  const node = aNode();
  node.cgroups.start();
  await node.clock.advance(0);
  node.machine = aMachine({ numCores: 8 });
  node.cgroups.onMachineChanged();
  await node.clock.advance(0);
  const limits = node.tasks.flatMap(({ cgroups }) => cgroups).filter(({ cgroup }) => cgroup.length === 1);
  assert.equal(limits.at(-1)?.resources.cpuShares, 8192);
  node.cgroups.close();
});
