import assert from 'node:assert/strict';
import { illegalTransition } from '../../../../../src/main/pods/api-status/state-transitions.ts';
import type { Container, ContainerState, PodSpec, PodStatus } from '../../../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../../../support/pods.ts';
import { table } from '../../../../support/table.ts';

const ended = (exitCode: number): ContainerState => ({ terminated: { exitCode } });
const running: ContainerState = { running: {} };
const of = (state: ContainerState) => [{ name: 'app', image: 'x', imageID: '', ready: false, restartCount: 0, state }];
const regular = (state: ContainerState): PodStatus => ({ containerStatuses: of(state) });
const init = (state: ContainerState): PodStatus => ({ initContainerStatuses: of(state) });
const restartable = (action: string): Partial<Container> => ({
  restartPolicy: 'Never',
  restartPolicyRules: [{ action, exitCodes: { operator: 'In', values: [42] } }],
});

const cases: { name: string; spec: Partial<PodSpec>; before: PodStatus; next?: PodStatus; want: string | null }[] = [
  {
    name: 'a container of a pod that restarts always may run again',
    spec: { restartPolicy: 'Always' },
    before: regular(ended(0)),
    want: null,
  },
  {
    name: 'one that ended under Never may not',
    spec: { restartPolicy: 'Never' },
    before: regular(ended(1)),
    want: 'terminated container app attempted illegal transition to non-terminated state',
  },
  {
    name: 'one that succeeded under OnFailure may not',
    spec: { restartPolicy: 'OnFailure' },
    before: regular(ended(0)),
    want: 'terminated container app attempted illegal transition to non-terminated state',
  },
  { name: 'one that failed under OnFailure may', spec: { restartPolicy: 'OnFailure' }, before: regular(ended(1)), want: null },
  {
    name: 'one whose own rule restarts it may',
    spec: { restartPolicy: 'Never', containers: [aContainer(restartable('Restart'))] },
    before: regular(ended(42)),
    want: null,
  },
  {
    name: 'all may of a pod whose containers can all be restarted',
    spec: { restartPolicy: 'Never', containers: [aContainer(restartable('RestartAllContainers'))] },
    before: regular(ended(1)),
    want: null,
  },
  {
    name: 'one that stays ended is fine',
    spec: { restartPolicy: 'Never' },
    before: regular(ended(1)),
    next: regular(ended(1)),
    want: null,
  },
  { name: 'one that is not shown any more is fine', spec: { restartPolicy: 'Never' }, before: regular(ended(1)), next: {}, want: null },
  {
    name: 'an init container that ended may not',
    spec: { restartPolicy: 'Never', initContainers: [aContainer()], containers: [aContainer({ name: 'main' })] },
    before: init(ended(0)),
    next: init(running),
    want: 'terminated init container app attempted illegal transition to non-terminated state',
  },
  {
    name: 'a sidecar may',
    spec: { restartPolicy: 'Never', initContainers: [aContainer({ restartPolicy: 'Always' })], containers: [aContainer({ name: 'main' })] },
    before: init(ended(1)),
    next: init(running),
    want: null,
  },
];
table('a container’s state may change, or may not', (row) => {
  for (const { name, spec, before, next = regular(running), want } of cases) {
    row(name, () => assert.equal(illegalTransition(before, next, aPod({ spec }).spec), want));
  }
});
