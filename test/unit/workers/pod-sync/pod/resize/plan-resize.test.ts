import assert from 'node:assert/strict';
import type { PodCgroupPart, PodCgroupValues } from '../../../../../../src/workers/pod-sync/cgroups/index.ts';
import type { ContainerResize, ResizeActions } from '../../../../../../src/workers/pod-sync/pod/compute-pod-actions/index.ts';
import { memoryProblem, planResize, type ResizeStep } from '../../../../../../src/workers/pod-sync/pod/resize/plan-resize.ts';
import type { ContainerID } from '../../../../../../src/shared/kubernetes/ids.ts';
import { table } from '../../../../../support/table.ts';
import { aContainer } from '../../../../../support/pods/pods.ts';

const none = { memoryLimit: 0, memoryRequest: 0, cpuLimit: 0, cpuRequest: 0 };
const resizeOf = (name: string, from: object, to: object): ContainerResize => ({
  id: name as ContainerID,
  container: aContainer({ name }),
  current: { ...none, ...from },
  desired: { ...none, ...to },
});
const pod = (values: Partial<Record<PodCgroupPart, [number, number | undefined]>>, files: [number, number][] = []): PodCgroupValues => {
  const valueOf = (key: PodCgroupPart) => ({ current: values[key]?.[0] ?? 1, desired: values[key] ? values[key][1] : 1 });
  const unified = files.map(([current, desired]) => ({ file: 'memory.low', text: String(desired), current, desired }));
  return { memory: valueOf('memory'), quota: valueOf('quota'), shares: valueOf('shares'), unified };
};
const actionsOf = (memory: ContainerResize[], cpu: ContainerResize[], more: Partial<ResizeActions> = {}): ResizeActions => ({
  containers: { memory, cpu },
  startsResized: false,
  podLevel: false,
  volumes: { shrinking: [], growing: [] },
  ...more,
});
const textOf = (step: ResizeStep) =>
  step.kind === 'pod'
    ? `pod ${step.part}`
    : step.kind === 'volume'
      ? `volume ${step.volume.name}`
      : step.kind === 'container'
        ? `${step.resize.container.name} ${step.resource}`
        : `${step.resource} done`;
const [a, b] = [resizeOf('a', {}, {}), resizeOf('b', {}, {})];

const plans: { name: string; actions: ResizeActions; values: PodCgroupValues | null; want: string[] }[] = [
  {
    name: 'the pod grows before its containers, the limit before the request',
    actions: actionsOf([a], [a, b]),
    values: pod({ memory: [1, 2], quota: [1, 2], shares: [1, 2] }),
    want: ['pod memory', 'a memory', 'memory done', 'pod quota', 'pod shares', 'a cpu', 'b cpu', 'cpu done'],
  },
  {
    name: 'the pod shrinks after its containers, the request before the limit',
    actions: actionsOf([a], [a]),
    values: pod({ memory: [2, 1], quota: [2, 1], shares: [2, 1] }),
    want: ['a memory', 'pod memory', 'memory done', 'a cpu', 'pod shares', 'pod quota', 'cpu done'],
  },
  { name: 'a pod whose sum stays', actions: actionsOf([a, b], []), values: pod({}), want: ['a memory', 'b memory', 'memory done'] },
  {
    name: 'a new limit shrinks, and an absent one stays',
    actions: actionsOf([a], [a]),
    values: pod({ memory: [Infinity, 5], quota: [Infinity, undefined] }),
    want: ['a memory', 'pod memory', 'memory done', 'a cpu', 'cpu done'],
  },
  {
    name: 'a limit that stays, with more memory protected',
    actions: actionsOf([a], []),
    values: pod({}, [[1, 2]]),
    want: ['pod memory', 'a memory', 'memory done'],
  },
  {
    name: 'a limit that stays, with less memory protected, and throttled above less',
    actions: actionsOf([a], []),
    values: pod({}, [
      [2, 1],
      [Infinity, 5],
    ]),
    want: ['a memory', 'pod memory', 'memory done'],
  },
  {
    name: 'a limit that shrinks, with more memory protected',
    actions: actionsOf([a], []),
    values: pod({ memory: [2, 1] }, [[1, 2]]),
    want: ['a memory', 'pod memory', 'memory done'],
  },
  {
    name: 'a container that starts with other resources',
    actions: actionsOf([], [], { startsResized: true }),
    values: pod({ memory: [1, 2] }),
    want: ['pod memory', 'memory done', 'cpu done'],
  },
  {
    name: 'a volume in memory shrinks before the memory, and grows after it',
    actions: actionsOf([a], [b], {
      volumes: { shrinking: [{ name: 'small', sizeLimit: '1Mi' }], growing: [{ name: 'large', sizeLimit: '2Mi' }] },
    }),
    values: pod({ memory: [1, 2], quota: [1, 2] }),
    want: ['volume small', 'pod memory', 'a memory', 'memory done', 'volume large', 'pod quota', 'b cpu', 'cpu done'],
  },
  { name: 'a pod without a cgroup', actions: actionsOf([a], []), values: null, want: ['a memory', 'memory done'] },
];
table('the steps of a resize', (row) => {
  for (const { name, actions, values, want } of plans) row(name, () => assert.deepEqual(planResize(actions, values).map(textOf), want));
});

const lower = resizeOf('a', { memoryLimit: 200 }, { memoryLimit: 100 });
const limited = resizeOf('a', {}, { memoryLimit: 100 });
const problems: { name: string; actions: ResizeActions; values?: PodCgroupValues; pod?: number; a?: number; want: string | null }[] = [
  { name: 'a lower limit above the usage', actions: actionsOf([lower], []), a: 99, want: null },
  {
    name: 'a lower limit below the usage',
    actions: actionsOf([lower], []),
    a: 100,
    want: 'cannot decrease memory limits: attempting to set container "a" memory limit (100) below current usage (100)',
  },
  {
    name: 'a first limit below the usage',
    actions: actionsOf([limited], []),
    a: 150,
    want: 'cannot decrease memory limits: attempting to set container "a" memory limit (100) below current usage (150)',
  },
  {
    name: 'a usage that is not known',
    actions: actionsOf([lower], []),
    want: 'cannot decrease memory limits: missing container "a" memory usage',
  },
  {
    name: 'the pod’s and a container’s limit',
    actions: actionsOf([lower], []),
    values: pod({ memory: [200, 100] }),
    pod: 170,
    a: 150,
    want: 'cannot decrease memory limits: [attempting to set pod memory limit (100) below current usage (170), attempting to set container "a" memory limit (100) below current usage (150)]',
  },
  { name: 'a higher limit', actions: actionsOf([resizeOf('a', { memoryLimit: 1 }, { memoryLimit: 2 })], []), a: 100, want: null },
];
table('why memory limits can’t be lowered', (row) => {
  for (const { name, actions, values, pod: ofPod, a: ofA, want } of problems) {
    row(name, () => assert.equal(memoryProblem(actions, values ?? null, { pod: ofPod, containers: new Map([['a', ofA]]) }), want));
  }
});
