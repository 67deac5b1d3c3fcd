import assert from 'node:assert/strict';
import { computePhase } from '../../../../../src/main/pods/api-status/phase.ts';
import type { ContainerStatus, PodSpec } from '../../../../../src/shared/kubernetes/api.ts';
import type { RestartGates } from '../../../../../src/shared/kubernetes/restart-policy.ts';
import { aContainer, aPod } from '../../../../support/pods/pods.ts';
import { table } from '../../../../support/table.ts';
import { defaultRestartGates } from '../../../../support/pods/status-features.ts';

type State = 'running' | 'starting' | 'waiting' | 'none' | number | { readonly waitingAfter: number };

/** running; starting: running but not started; a number: terminated with this exit code; waitingAfter: waiting after a termination. */
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
  readonly restarting?: boolean;
  readonly gates?: RestartGates;
  readonly spec?: Partial<PodSpec>;
  readonly want: string;
}

const cases: Case[] = [
  { name: 'is Pending while its container waits', regular: ['waiting'], want: 'Pending' },
  { name: 'is Pending when a container is unknown', regular: ['none'], want: 'Pending' },
  { name: 'is Running when its containers run', regular: ['running', 'running'], want: 'Running' },
  { name: 'is Pending while one of two containers never started', regular: ['running', 'waiting'], want: 'Pending' },
  { name: 'is Pending while one of two containers is unknown', regular: ['running', 'none'], want: 'Pending' },
  { name: 'is Running while one container runs and another has terminated', policy: 'Never', regular: ['running', 1], want: 'Running' },
  { name: 'stays Running under Always when all have terminated', regular: [0, 0], want: 'Running' },
  { name: 'stays Running under Always in CrashLoopBackOff', regular: [{ waitingAfter: 1 }], want: 'Running' },
  { name: 'is Succeeded under OnFailure when all completed', policy: 'OnFailure', regular: [0, 0], want: 'Succeeded' },
  { name: 'stays Running under OnFailure when one is restarted', policy: 'OnFailure', regular: [0, 1], want: 'Running' },
  { name: 'is Succeeded under Never when all completed', policy: 'Never', regular: [0], want: 'Succeeded' },
  { name: 'is Failed under Never when one failed', policy: 'Never', regular: [0, 3], want: 'Failed' },
  { name: 'is Pending while an init container runs', init: ['running'], regular: ['waiting'], want: 'Pending' },
  { name: 'is Pending while an init container waits', init: ['waiting'], regular: ['waiting'], want: 'Pending' },
  { name: 'is Pending while a failed init container is restarted', init: [{ waitingAfter: 1 }], regular: ['waiting'], want: 'Pending' },
  { name: 'is Failed under Never when an init container failed', policy: 'Never', init: [1], regular: ['waiting'], want: 'Failed' },
  { name: 'is Running when the init containers have completed', init: [0], regular: ['running'], want: 'Running' },
  { name: 'is Pending while a sidecar starts', sidecars: ['starting'], regular: ['waiting'], want: 'Pending' },
  {
    name: 'is Running while a sidecar restarts, once initialized',
    sidecars: ['starting'],
    regular: ['running'],
    initialized: true,
    want: 'Running',
  },
  {
    name: 'is Pending when a sidecar restarts before the pod is initialized',
    sidecars: ['starting'],
    regular: ['running'],
    want: 'Pending',
  },
  { name: 'is Succeeded even if its sidecar failed', policy: 'Never', sidecars: [137], regular: [0], want: 'Succeeded' },
  { name: 'is Running while only its sidecar runs', policy: 'Never', sidecars: ['running'], regular: [0], want: 'Running' },
  {
    name: 'is Succeeded when it is deleted and all completed, whatever the policy',
    regular: [0],
    terminating: true,
    fromApi: true,
    want: 'Succeeded',
  },
  { name: 'is Failed when it is deleted and one failed', regular: [0, 137], terminating: true, fromApi: true, want: 'Failed' },
  { name: 'stays Running as a deleted static pod, as upstream', regular: [137], terminating: true, want: 'Running' },
  {
    name: 'is Failed when the container’s own policy forbids a restart',
    regular: [2],
    spec: { containers: [aContainer({ name: 'r0', restartPolicy: 'Never' })] },
    want: 'Failed',
  },
  {
    name: 'stays Running under Never while all of its containers are killed for a restart of all',
    policy: 'Never',
    init: [0],
    sidecars: [42],
    regular: [143],
    restarting: true,
    want: 'Running',
  },
  { name: 'is Failed when its container is killed otherwise', policy: 'Never', init: [0], sidecars: [42], regular: [143], want: 'Failed' },
  {
    name: 'stays Running when a container rule restarts on that exit code',
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
    restarting = false,
    gates = defaultRestartGates,
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
      assert.equal(computePhase(pod, statuses, { terminating, hasInitialized: initialized, restarting, gates }), want);
    });
  }
});
