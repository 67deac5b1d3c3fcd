import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asAllocated } from '../../../../src/main/allocation/index.ts';
import { resizeFit } from '../../../../src/main/pods/admission/index.ts';
import { ResizeAdmission } from '../../../../src/main/pods/resize-admission.ts';
import type { PodUID } from '../../../../src/shared/kubernetes/ids.ts';
import { settle } from '../../../support/fake-clock.ts';
import { silentLogger } from '../../../support/logger.ts';
import { aContainer, aPod } from '../../../support/pods/pods.ts';

const podOf = (name: string, cpu: string, priority = 0) =>
  aPod({
    metadata: { name, uid: name, annotations: { 'kubernetes.io/config.source': 'api' } },
    spec: { priority, containers: [aContainer({ resources: { requests: { cpu } } })] },
  });
const critical = 2_000_000_000;

function aNode(...running: readonly ReturnType<typeof podOf>[]) {
  const pods = new Map(running.map((pod) => [pod.metadata.name, pod]));
  const ended = new Map<PodUID, () => void>();
  const admission = new ResizeAdmission({
    activePods: { list: () => [...pods.values()].map(asAllocated) },
    resizeFit: resizeFit({
      node: () => ({ metadata: { name: 'n' }, status: { allocatable: { cpu: '1', pods: '10' } } }),
      schedulerPreempts: false,
    }),
    podWorkers: { kill: (uid) => new Promise((resolve) => ended.set(uid, () => resolve(undefined))) },
    events: { record: () => {} },
    logger: silentLogger,
  });
  return {
    admission,
    asked: () => [...ended.keys()].sort(),
    /** The pod has ended, or `kill` waits no longer for one that hangs. */
    end: async (name: string, hangs = false) => {
      if (!hangs) pods.delete(name);
      ended.get(name as PodUID)?.();
      await settle();
    },
  };
}

test('a critical pod gets its resources when the last pod that ends for it has ended, not before', async () => {
  const wanted = podOf('c', '900m', critical);
  const node = aNode(podOf('c', '100m', critical), podOf('a', '400m'), podOf('b', '400m'));
  const decided: unknown[] = [];
  const refusal = () => node.admission.refusal(wanted, () => decided.push(node.admission.refusal(wanted, () => {})));
  const waits = { message: 'Waiting for the end of 2 less important pods, which use cpu' };
  assert.deepEqual([refusal(), node.asked()], [waits, ['a', 'b']]);
  await node.end('a');
  assert.deepEqual([refusal(), decided], [waits, []]);
  await node.end('b');
  assert.deepEqual(decided, [null]);
});

test('a critical pod does not wait for a pod that hangs, and the next resize counts it again', async () => {
  const wanted = podOf('c', '900m', critical);
  const node = aNode(podOf('c', '100m', critical), podOf('a', '800m'));
  const decided: unknown[] = [];
  node.admission.refusal(wanted, () => decided.push(node.admission.refusal(wanted, () => {})));
  await node.end('a', true);
  assert.deepEqual(decided, [null]);
  assert.match(node.admission.refusal(wanted, () => {})?.message ?? '', /^Waiting for the end of 1 less important pods/);
});

test('a pod that is not critical ends no other', () => {
  const node = aNode(podOf('c', '100m'), podOf('a', '800m'));
  assert.match(node.admission.refusal(podOf('c', '900m'), () => {})?.message ?? '', /Node didn't have enough resource: cpu/);
  assert.deepEqual(node.asked(), []);
});
