import assert from 'node:assert/strict';
import { computePhase } from '../../../../../src/main/pods/api-status/phase.ts';
import type { ContainerStatus, PodSpec } from '../../../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../../../support/pods.ts';
import { table } from '../../../../support/table.ts';

type State = 'running' | 'starting' | 'waiting' | 'none' | number | { readonly waitingAfter: number };

/** running; starting: runs, but is not started; a number: terminated with it; waitingAfter: waits, ended so before. */
function statusOf(name: string, state: State): ContainerStatus[] {
  const base = { name, image: 'i', imageID: '', ready: false, restartCount: 0 };
  if (state === 'none') return [];
  if (state === 'waiting') return [{ ...base, state: { waiting: {} } }];
  if (state === 'running' || state === 'starting') return [{ ...base, started: state === 'running', state: { running: {} } }];
  if (typeof state === 'number') return [{ ...base, state: { terminated: { exitCode: state } } }];
  return [{ ...base, state: { waiting: {} }, lastState: { terminated: { exitCode: state.waitingAfter } } }];
}

interface Case {
  readonly name: string;
  readonly policy?: 'Always' | 'OnFailure' | 'Never';
  readonly init?: readonly State[];
  readonly sidecars?: readonly State[];
  readonly regular: readonly State[];
  readonly terminating?: boolean;
  readonly initialized?: boolean;
  readonly fromApi?: boolean;
  readonly spec?: Partial<PodSpec>;
  readonly want: string;
}

const cases: Case[] = [
  { name: 'waits for its container', regular: ['waiting'], want: 'Pending' },
  { name: 'is pending when nothing is known of a container', regular: ['none'], want: 'Pending' },
  { name: 'runs when its containers run', regular: ['running', 'running'], want: 'Running' },
  { name: 'is pending while one of two containers never started', regular: ['running', 'waiting'], want: 'Pending' },
  { name: 'is pending while one of two containers is unknown', regular: ['running', 'none'], want: 'Pending' },
  { name: 'runs while one container runs and another has ended', policy: 'Never', regular: ['running', 1], want: 'Running' },
  { name: 'runs on under Always when all have ended', regular: [0, 0], want: 'Running' },
  { name: 'runs on under Always in crash-loop back-off', regular: [{ waitingAfter: 1 }], want: 'Running' },
  { name: 'succeeded under OnFailure when all ended well', policy: 'OnFailure', regular: [0, 0], want: 'Succeeded' },
  { name: 'runs on under OnFailure when one is to run again', policy: 'OnFailure', regular: [0, 1], want: 'Running' },
  { name: 'succeeded under Never when all ended well', policy: 'Never', regular: [0], want: 'Succeeded' },
  { name: 'failed under Never when one ended badly', policy: 'Never', regular: [0, 3], want: 'Failed' },
  { name: 'is pending while an init container runs', init: ['running'], regular: ['waiting'], want: 'Pending' },
  { name: 'is pending while an init container waits', init: ['waiting'], regular: ['waiting'], want: 'Pending' },
  { name: 'is pending while a failed init container is to run again', init: [{ waitingAfter: 1 }], regular: ['waiting'], want: 'Pending' },
  { name: 'failed under Never when an init container failed', policy: 'Never', init: [1], regular: ['waiting'], want: 'Failed' },
  { name: 'runs when the init containers are done', init: [0], regular: ['running'], want: 'Running' },
  { name: 'is pending while a sidecar starts', sidecars: ['starting'], regular: ['waiting'], want: 'Pending' },
  {
    name: 'runs although a sidecar restarts, once initialized',
    sidecars: ['starting'],
    regular: ['running'],
    initialized: true,
    want: 'Running',
  },
  { name: 'is pending when a sidecar restarts before it was initialized', sidecars: ['starting'], regular: ['running'], want: 'Pending' },
  { name: 'succeeded although its sidecar ended badly', policy: 'Never', sidecars: [137], regular: [0], want: 'Succeeded' },
  { name: 'runs while only its sidecar still runs', policy: 'Never', sidecars: ['running'], regular: [0], want: 'Running' },
  {
    name: 'succeeded when it is deleted and all ended well, whatever the policy',
    regular: [0],
    terminating: true,
    fromApi: true,
    want: 'Succeeded',
  },
  { name: 'failed when it is deleted and one ended badly', regular: [0, 137], terminating: true, fromApi: true, want: 'Failed' },
  { name: 'keeps running as a static pod that is deleted, as upstream', regular: [137], terminating: true, want: 'Running' },
  {
    name: 'failed when the container’s own policy forbids a restart',
    regular: [2],
    spec: { containers: [aContainer({ name: 'r0', restartPolicy: 'Never' })] },
    want: 'Failed',
  },
  {
    name: 'runs on when a rule of the container restarts on that exit code',
    policy: 'Never',
    regular: [42],
    spec: {
      containers: [
        aContainer({
          name: 'r0',
          restartPolicy: 'Never',
          restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
        }),
      ],
    },
    want: 'Running',
  },
];

table('phase: a pod', (row) => {
  for (const {
    name,
    policy = 'Always',
    init = [],
    sidecars = [],
    regular,
    terminating = false,
    initialized = false,
    fromApi,
    spec,
    want,
  } of cases) {
    row(`phase: a pod ${name}`, () => {
      const pod = aPod({
        metadata: { annotations: { 'kubernetes.io/config.source': fromApi ? 'api' : 'file' } },
        spec: {
          restartPolicy: policy,
          initContainers: [
            ...init.map((_, i) => aContainer({ name: `i${i}` })),
            ...sidecars.map((_, i) => aContainer({ name: `s${i}`, restartPolicy: 'Always' })),
          ],
          containers: regular.map((_, i) => aContainer({ name: `r${i}` })),
          ...spec,
        },
      });
      const statuses = [
        ...init.flatMap((state, i) => statusOf(`i${i}`, state)),
        ...sidecars.flatMap((state, i) => statusOf(`s${i}`, state)),
        ...regular.flatMap((state, i) => statusOf(`r${i}`, state)),
      ];
      assert.equal(computePhase(pod, statuses, terminating, initialized), want);
    });
  }
});
