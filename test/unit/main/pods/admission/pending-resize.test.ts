import assert from 'node:assert/strict';
import { test } from 'node:test';
import { predicateAdmission, type AdmissionNode } from '../../../../../src/main/pods/admission/index.ts';
import { allocationOf, withAllocation, type PodAllocation } from '../../../../../src/main/pods/admission/allocation.ts';
import type { Pod, PodCondition } from '../../../../../src/shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../../support/fake-clock.ts';
import { aHousehold } from '../../../../support/node-with-handlers.ts';
import { aContainer, aPod } from '../../../../support/pods.ts';

const gates = { podLevel: true, initContainers: false };

/** On a node of two CPUs. */
function aNode() {
  const admitted = new Map<PodUID, PodAllocation>();
  const node: AdmissionNode = { metadata: { name: 'node-1' }, status: { allocatable: { cpu: '2', memory: '1Gi', pods: '10' } } };
  const household = aHousehold(undefined, {
    admitHandlers: [predicateAdmission({ node: () => node, tolerationComparisons: false })],
    journal: {
      has: (uid) => admitted.has(uid),
      add: (pod) => void admitted.set(podUID(pod), admitted.get(podUID(pod)) ?? allocationOf(pod, gates)),
      allocated: (pod) => {
        const allocation = admitted.get(podUID(pod));
        return allocation ? withAllocation(pod, allocation, gates) : pod;
      },
      release: () => {},
    },
  });
  return Object.assign(household, { admitted });
}

const aPodOf = (
  cpu: string,
  { name = 'web', generation = 1, conditions }: { name?: string; generation?: number; conditions?: PodCondition[] } = {},
) =>
  aPod({
    metadata: { name, uid: `uid-${name}`, generation, annotations: { 'kubernetes.io/config.source': 'api' } },
    spec: { containers: [aContainer({ resources: { requests: { cpu } } })] },
    ...(conditions && { status: { phase: 'Running', conditions } }),
  });
const uid = 'uid-web' as PodUID;
type Household = ReturnType<typeof aNode>;
const taskCPU = ({ node }: Household) => {
  const { task } = node.task('sync');
  return task.kind === 'sync' && task.pod.spec.containers[0]?.resources?.requests?.['cpu'];
};
const pendingOf = ({ node }: Household) => node.statuses.get(uid)?.conditions?.find(({ type }) => type === 'PodResizePending');
const resizeEvents = ({ node }: Household) =>
  node.events.filter(({ reason }) => reason === 'ResizeInfeasible').map(({ message }) => message);
const add = async (household: Household, pod: Pod) => {
  await household.updates.add([pod]);
  await settle();
};
const update = async (household: Household, pod: Pod) => {
  household.updates.update([pod]);
  await settle();
};

test('a pod that asks for other resources is synced with those it has, and others find the room that it leaves', async () => {
  const household = aNode();
  await add(household, aPodOf('1'));
  await household.node.end(household.node.task('sync'));
  await update(household, aPodOf('900', { generation: 2 }));
  assert.equal(taskCPU(household), '1');
  const { status, reason, message, observedGeneration } = pendingOf(household)!;
  assert.deepEqual([status, reason, message, observedGeneration], ['True', 'Infeasible', 'In-place resize is not supported.', 2]);
  await add(household, aPodOf('1', { name: 'beside' }));
  assert.equal(household.node.workers.isKnown('uid-beside' as PodUID), true);
  await add(household, aPodOf('1', { name: 'third' }));
  assert.equal(household.node.statuses.get('uid-third' as PodUID)?.reason, 'OutOfcpu');
});

test('a resize is told once, and again when it is another', async () => {
  const household = aNode();
  await add(household, aPodOf('1'));
  for (const [cpu, generation] of [
    ['900', 2],
    ['900', 3],
    ['800', 4],
  ] as const)
    await update(household, aPodOf(cpu, { generation }));
  const said = (cpu: string, generation: number) =>
    `Pod resize Infeasible: {"containers":[{"name":"app","resources":{"requests":{"cpu":"${cpu}"}}}],"generation":${generation},"error":"In-place resize is not supported."}`;
  assert.deepEqual(resizeEvents(household), [said('900', 2), said('800', 4)]);
});

test('a resize that is taken back leaves nothing', async () => {
  const household = aNode();
  await add(household, aPodOf('1'));
  await update(household, aPodOf('900', { generation: 2 }));
  await household.node.endAll();
  assert.ok(pendingOf(household));
  await update(household, aPodOf('1000m', { generation: 3 }));
  await household.node.endAll();
  assert.equal(pendingOf(household), undefined);
});

test('after a restart a resize that was told is not told again', async () => {
  const said = (observedGeneration: number): PodCondition[] => [
    { type: 'PodResizePending', status: 'True', reason: 'Infeasible', observedGeneration },
  ];
  for (const [observedGeneration, events] of [
    [2, 0],
    [1, 1],
  ] as const) {
    const household = aNode();
    household.admitted.set(uid, allocationOf(aPodOf('1'), gates));
    await add(household, aPodOf('900', { generation: 2, conditions: said(observedGeneration) }));
    assert.equal(taskCPU(household), '1');
    assert.equal(pendingOf(household)?.observedGeneration, 2);
    assert.equal(resizeEvents(household).length, events);
  }
});

test('a pod whose status alone changed is worked towards with what it has', async () => {
  const household = aNode();
  await add(household, aPodOf('1'));
  household.updates.reconcile([aPodOf('900', { conditions: [] })]);
  assert.equal(household.node.workers.pod(uid)?.spec.containers[0]?.resources?.requests?.['cpu'], '1');
});
