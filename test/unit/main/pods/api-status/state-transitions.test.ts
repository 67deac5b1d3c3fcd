import assert from 'node:assert/strict';
import { illegalTransition } from '../../../../../src/main/pods/api-status/state-transitions.ts';
import type { Container, ContainerState, PodSpec, PodStatus } from '../../../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';
import { defaultRestartGates } from '../../../../support/pods/status-features.ts';

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
    name: 'a container under Always may run again',
    spec: { restartPolicy: 'Always' },
    before: regular(ended(0)),
    want: null,
  },
  {
    name: 'a container that terminated under Never may not',
    spec: { restartPolicy: 'Never' },
    before: regular(ended(1)),
    want: 'terminated container app attempted illegal transition to non-terminated state',
  },
  {
    name: 'a container that succeeded under OnFailure may not',
    spec: { restartPolicy: 'OnFailure' },
    before: regular(ended(0)),
    want: 'terminated container app attempted illegal transition to non-terminated state',
  },
  { name: 'a container that failed under OnFailure may', spec: { restartPolicy: 'OnFailure' }, before: regular(ended(1)), want: null },
  {
    name: 'a container with a matching restart rule may',
    spec: { restartPolicy: 'Never', containers: [aContainer(restartable('Restart'))] },
    before: regular(ended(42)),
    want: null,
  },
  {
    name: 'every container of a pod with a RestartAllContainers rule may',
    spec: { restartPolicy: 'Never', containers: [aContainer(restartable('RestartAllContainers'))] },
    before: regular(ended(1)),
    want: null,
  },
  {
    name: 'a container that stays terminated is legal',
    spec: { restartPolicy: 'Never' },
    before: regular(ended(1)),
    next: regular(ended(1)),
    want: null,
  },
  { name: 'a container without a new status is legal', spec: { restartPolicy: 'Never' }, before: regular(ended(1)), next: {}, want: null },
  {
    name: 'a terminated init container may not',
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
table('legal and illegal container state transitions', (row) => {
  for (const { name, spec, before, next = regular(running), want } of cases) {
    row(name, () => assert.equal(illegalTransition(before, next, aPod({ spec }).spec, defaultRestartGates), want));
  }
});
