import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asAllocated } from '../../../../src/main/allocation/index.ts';
import { predicateAdmission, type AdmissionNode } from '../../../../src/main/pods/admission/index.ts';
import { toAllocation, withAllocation, type PodAllocation } from '../../../../src/main/allocation/pod-allocation.ts';
import type { Pod, PodCondition } from '../../../../src/shared/kubernetes/api.ts';
import { podUID, type PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../support/fake-clock.ts';
import { aNodeWithHandlers } from '../../../support/pods/node-with-handlers.ts';
import { aContainer, aPod } from '../../../support/pods/pods.ts';

const gates = { podLevel: true, initContainers: false };

/** A node with two CPUs. */
function aNode() {
  const admitted = new Map<PodUID, PodAllocation>();
  const node: AdmissionNode = { metadata: { name: 'node-1' }, status: { allocatable: { cpu: '2', memory: '1Gi', pods: '10' } } };
  const setup = aNodeWithHandlers(undefined, {
    admitHandlers: [predicateAdmission({ node: () => node, tolerationComparisons: false })],
    allocationManager: {
      isAdmitted: (uid) => admitted.has(uid),
      setAllocatedResources: (pod) => void admitted.set(podUID(pod), admitted.get(podUID(pod)) ?? toAllocation(pod, gates)),
      updatePodFromAllocation: (pod) => {
        const allocation = admitted.get(podUID(pod));
        return asAllocated(allocation ? withAllocation(pod, allocation, gates) : pod);
      },
      removePod: () => {},
    },
  });
  return Object.assign(setup, { admitted });
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
type Setup = ReturnType<typeof aNode>;
const taskCPU = ({ node }: Setup) => {
  const { task } = node.task('sync');
  return task.kind === 'sync' && task.pod.spec.containers[0]?.resources?.requests?.['cpu'];
};
const pendingOf = ({ node }: Setup) => node.statuses.get(uid)?.conditions?.find(({ type }) => type === 'PodResizePending');
const resizeEvents = ({ node }: Setup) => node.events.filter(({ reason }) => reason === 'ResizeInfeasible').map(({ message }) => message);
const add = async (setup: Setup, pod: Pod) => {
  await setup.handlers.add([pod]);
  await settle();
};
const update = async (setup: Setup, pod: Pod) => {
  setup.handlers.update([pod]);
  await settle();
};

test('a pod with changed requests is synced with its allocated resources, which admission counts', async () => {
  const setup = aNode();
  await add(setup, aPodOf('1'));
  await setup.node.completeTask(setup.node.task('sync'));
  await update(setup, aPodOf('900', { generation: 2 }));
  assert.equal(taskCPU(setup), '1');
  const { status, reason, message, observedGeneration } = pendingOf(setup)!;
  assert.deepEqual([status, reason, message, observedGeneration], ['True', 'Infeasible', 'In-place resize is not supported.', 2]);
  await add(setup, aPodOf('1', { name: 'beside' }));
  assert.equal(setup.node.workers.isKnown('uid-beside' as PodUID), true);
  await add(setup, aPodOf('1', { name: 'third' }));
  assert.equal(setup.node.statuses.get('uid-third' as PodUID)?.reason, 'OutOfcpu');
});

test('a pending resize records one event, and another one when it changes', async () => {
  const setup = aNode();
  await add(setup, aPodOf('1'));
  for (const [cpu, generation] of [
    ['900', 2],
    ['900', 3],
    ['800', 4],
  ] as const)
    await update(setup, aPodOf(cpu, { generation }));
  const resizeEvent = (cpu: string, generation: number) =>
    `Pod resize Infeasible: {"containers":[{"name":"app","resources":{"requests":{"cpu":"${cpu}"}}}],"generation":${generation},"error":"In-place resize is not supported."}`;
  assert.deepEqual(resizeEvents(setup), [resizeEvent('900', 2), resizeEvent('800', 4)]);
});

test('a reverted resize clears the condition', async () => {
  const setup = aNode();
  await add(setup, aPodOf('1'));
  await update(setup, aPodOf('900', { generation: 2 }));
  await setup.node.completeAllTasks();
  assert.ok(pendingOf(setup));
  await update(setup, aPodOf('1000m', { generation: 3 }));
  await setup.node.completeAllTasks();
  assert.equal(pendingOf(setup), undefined);
});

test('after a restart a reported resize records no second event', async () => {
  const reported = (observedGeneration: number): PodCondition[] => [
    { type: 'PodResizePending', status: 'True', reason: 'Infeasible', observedGeneration },
  ];
  for (const [observedGeneration, events] of [
    [2, 0],
    [1, 1],
  ] as const) {
    const setup = aNode();
    setup.admitted.set(uid, toAllocation(aPodOf('1'), gates));
    await add(setup, aPodOf('900', { generation: 2, conditions: reported(observedGeneration) }));
    assert.equal(taskCPU(setup), '1');
    assert.equal(pendingOf(setup)?.observedGeneration, 2);
    assert.equal(resizeEvents(setup).length, events);
  }
});

test('a pod of which only the status changed is synced with its allocated resources', async () => {
  const setup = aNode();
  await add(setup, aPodOf('1'));
  setup.handlers.reconcile([aPodOf('900', { conditions: [] })]);
  assert.equal(setup.node.workers.pod(uid)?.spec.containers[0]?.resources?.requests?.['cpu'], '1');
});
