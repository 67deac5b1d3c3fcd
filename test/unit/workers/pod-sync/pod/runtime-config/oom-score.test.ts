import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Container, PodSpec } from '../../../../../../src/shared/kubernetes/api.ts';
import { computeOOMScoreAdj } from '../../../../../../src/workers/pod-sync/pod/runtime-config/oom-score.ts';
import { aContainer, aPod } from '../../../../../support/pods/pods.ts';
import { table } from '../../../../../support/table.ts';

const capacity = 4_000_000_000;
const request = (memory: string, more: Partial<Container> = {}) => aContainer({ resources: { requests: { memory } }, ...more });
const sidecar = request('1000', { name: 'sidecar', restartPolicy: 'Always' });

const cases: readonly [name: string, container: Container, spec: Partial<PodSpec>, want: number][] = [
  ['BestEffort is killed first', aContainer(), {}, 1000],
  [
    'Guaranteed is killed last',
    aContainer({ resources: { limits: { cpu: '1', memory: '1G' }, requests: { cpu: '1', memory: '1G' } } }),
    {},
    -997,
  ],
  ['a node-critical pod is killed last, whatever its requests', aContainer(), { priorityClassName: 'system-node-critical' }, -997],
  ['a quarter of the memory', request('1G'), {}, 750],
  ['a minimal request is killed after BestEffort', request('1'), {}, 999],
  ['a CPU request alone', aContainer({ resources: { requests: { cpu: '100m' } } }), {}, 999],
  ['a request of all memory is killed before Guaranteed', request('4G'), {}, 3],
  ['a request of more than all memory is killed before Guaranteed', request('9G'), {}, 3],
];
table('OOM score', (row) => {
  for (const [name, container, spec, want] of cases) {
    row(`OOM score: ${name}`, () =>
      assert.equal(computeOOMScoreAdj(aPod({ spec: { ...spec, containers: [container] } }), container, capacity, true), want),
    );
  }
});

test('OOM score: a sidecar is not killed before the regular containers', () => {
  const pod = aPod({ spec: { containers: [request('2G'), request('1G', { name: 'other' })], initContainers: [sidecar] } });
  assert.equal(computeOOMScoreAdj(pod, sidecar, capacity, true), 750);
  const notASidecar = { ...sidecar, name: 'not-in-the-pod' };
  assert.equal(computeOOMScoreAdj(pod, notASidecar, capacity, true), 999);
});

test('OOM score: the pod-level request beyond the containers’ is split equally', () => {
  const containers = [request('1G'), aContainer({ name: 'other' })];
  const pod = aPod({ spec: { containers, resources: { requests: { memory: '3G' } } } });
  assert.equal(computeOOMScoreAdj(pod, containers[0]!, capacity, true), 500);
  assert.equal(computeOOMScoreAdj(pod, containers[1]!, capacity, true), 750);
});

test('OOM score: a pod-level request below the containers’ does not make them easier to kill', () => {
  const container = request('2G');
  const pod = aPod({ spec: { containers: [container], resources: { requests: { memory: '1G' } } } });
  assert.equal(computeOOMScoreAdj(pod, container, capacity, true), 500);
});

test('OOM score: on a node of unknown size, Burstable is between BestEffort and Guaranteed', () => {
  assert.equal(computeOOMScoreAdj(aPod({ spec: { containers: [request('1G')] } }), request('1G'), 0, true), 999);
});
