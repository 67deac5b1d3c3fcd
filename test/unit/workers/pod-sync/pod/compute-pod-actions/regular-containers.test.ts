import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SandboxID } from '../../../../../../src/shared/kubernetes/ids.ts';
import { computePodActions } from '../../../../../../src/workers/pod-sync/pod/compute-pod-actions/index.ts';
import { aContainer, aContainerStatus, aPod, aRuntimeStatus, aSandbox, exited } from '../../../../../support/pods/pod-sync-samples.ts';
import { probes, testRows } from './rows.ts';
import { defaultRestartGates } from '../../../../../support/pods/status-features.ts';

const three = [aContainer('a'), aContainer('b'), aContainer('c')];
const running = ['a', 'b', 'c'].map((name) => aContainerStatus(name));
const deadSandbox = [aSandbox({ state: 'notReady' })];
const always = aPod({ containers: three });
const onFailure = aPod({ containers: three, restartPolicy: 'OnFailure' });
const never = aPod({ containers: three, restartPolicy: 'Never' });

testRows('the actions of regular containers', [
  { name: 'a pod whose containers all run needs no action', pod: always, status: aRuntimeStatus(running), want: [] },
  {
    name: 'a new pod gets a sandbox and all its containers',
    pod: always,
    status: null,
    want: ['kill pod', 'create sandbox 0', 'start a', 'start b', 'start c'],
  },
  {
    name: 'exited containers run again under Always, whatever their exit code',
    pod: always,
    status: aRuntimeStatus([exited('a', 0), exited('b', 1), aContainerStatus('c')]),
    want: ['start a', 'start b'],
  },
  {
    name: 'only failed containers run again under OnFailure',
    pod: onFailure,
    status: aRuntimeStatus([exited('a', 0), exited('b', 1), aContainerStatus('c')]),
    want: ['start b'],
  },
  {
    name: 'a container that was created but not started is started again',
    pod: onFailure,
    status: aRuntimeStatus([aContainerStatus('a', { state: 'created' }), aContainerStatus('b'), aContainerStatus('c')]),
    want: ['start a'],
  },
  {
    name: 'no container runs again under Never while another still runs',
    pod: never,
    status: aRuntimeStatus([exited('a', 0), exited('b', 1), aContainerStatus('c')]),
    want: [],
  },
  {
    name: 'the pod is killed when no container runs or will run again',
    pod: never,
    status: aRuntimeStatus([exited('a', 0), exited('b', 1), exited('c', 0)]),
    want: ['kill pod'],
  },
  {
    name: 'the pod is killed when all containers have succeeded under OnFailure',
    pod: onFailure,
    status: aRuntimeStatus([exited('a', 0), exited('b', 0), exited('c', 0)]),
    want: ['kill pod'],
  },
  {
    name: 'a pod that is being deleted starts nothing',
    pod: aPod({ containers: three }, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    status: aRuntimeStatus([exited('a', 0), exited('b', 1), aContainerStatus('c')]),
    want: [],
  },
  {
    name: 'a container with a changed definition is killed and started',
    pod: always,
    status: aRuntimeStatus([aContainerStatus('a'), aContainerStatus('b', { hash: 'old' }), aContainerStatus('c')]),
    want: ['kill b-1', 'start b'],
  },
  {
    name: 'a changed definition is started even under Never',
    pod: never,
    status: aRuntimeStatus([aContainerStatus('a'), aContainerStatus('b', { hash: 'old' }), aContainerStatus('c')]),
    want: ['kill b-1', 'start b'],
  },
  {
    name: 'a container that failed its liveness probe is killed and started',
    pod: always,
    status: aRuntimeStatus(running),
    more: { probes: probes({ liveness: { 'b-1': 'failure' } }) },
    want: ['kill b-1: LivenessProbe', 'start b'],
  },
  {
    name: 'a container that failed its startup probe is killed and not started under Never',
    pod: never,
    status: aRuntimeStatus(running),
    more: { probes: probes({ startup: { 'b-1': 'failure' } }) },
    want: ['kill b-1: StartupProbe'],
  },
  {
    name: 'a container in an unknown state is killed before it is started',
    pod: always,
    status: aRuntimeStatus([aContainerStatus('a'), aContainerStatus('b', { state: 'unknown' }), aContainerStatus('c')]),
    want: ['kill b-1: Unknown', 'start b'],
  },
  {
    name: 'only the newest instance of a container counts',
    pod: always,
    status: aRuntimeStatus([...running, exited('b', 1, { restartCount: 0 })]),
    want: [],
  },
  {
    name: 'a dead sandbox is replaced with all containers under Always',
    pod: always,
    status: aRuntimeStatus([exited('a', 0), exited('b', 1), exited('c', 0)], deadSandbox),
    want: ['kill pod', 'create sandbox 1', 'start a', 'start b', 'start c'],
  },
  {
    name: 'a dead sandbox is replaced without the succeeded containers under OnFailure',
    pod: onFailure,
    status: aRuntimeStatus([exited('a', 0), exited('b', 1), aContainerStatus('c')], deadSandbox),
    want: ['kill pod', 'create sandbox 1', 'start b', 'start c'],
  },
  {
    name: 'a dead sandbox is not replaced when all succeeded under OnFailure',
    pod: onFailure,
    status: aRuntimeStatus([exited('a', 0), exited('b', 0), exited('c', 0)], deadSandbox),
    want: ['kill pod'],
  },
  {
    name: 'a dead sandbox is not replaced under Never when containers were created',
    pod: never,
    status: aRuntimeStatus([exited('a', 2), exited('b', 0), exited('c', 0)], deadSandbox),
    want: ['kill pod'],
  },
  {
    name: 'a dead sandbox is replaced under Never for the containers that have not run',
    pod: never,
    status: aRuntimeStatus([exited('a', 2), aContainerStatus('b', { state: 'created' })], deadSandbox),
    want: ['kill pod', 'create sandbox 1', 'start b', 'start c'],
  },
  {
    name: 'a dead sandbox is not replaced under Never when the containers may have run',
    pod: never,
    status: aRuntimeStatus([exited('a', 2), aContainerStatus('b', { state: 'unknown' }), aContainerStatus('c')], deadSandbox),
    want: ['kill pod'],
  },
  {
    name: 'a dead sandbox is replaced under Never when no container was ever created',
    pod: never,
    status: aRuntimeStatus([], deadSandbox),
    want: ['kill pod', 'create sandbox 1', 'start a', 'start b', 'start c'],
  },
  {
    name: 'a sandbox without an IP address is replaced',
    pod: always,
    status: aRuntimeStatus(running, [aSandbox({ podIPs: [], attempt: 3 })]),
    want: ['kill pod', 'create sandbox 4', 'start a', 'start b', 'start c'],
  },
  {
    name: "a sandbox without an IP address is kept for a pod in the host's network",
    pod: aPod({ containers: three, hostNetwork: true }),
    status: aRuntimeStatus(running, [aSandbox({ podIPs: [], hostNetwork: true })]),
    want: [],
  },
  {
    name: 'two ready sandboxes are replaced by a new one',
    pod: always,
    status: aRuntimeStatus(running, [aSandbox({ id: 'sandbox-2' as SandboxID, attempt: 1 }), aSandbox()]),
    want: ['kill pod', 'create sandbox 2', 'start a', 'start b', 'start c'],
  },
  {
    name: 'a container with its own policy Never is not restarted in a pod with Always',
    pod: aPod({ containers: [aContainer('a', { restartPolicy: 'Never' }), aContainer('b')] }),
    status: aRuntimeStatus([exited('a', 1), aContainerStatus('b')]),
    want: [],
  },
  {
    name: "a container's restart rule for its exit code overrides its policy",
    pod: aPod({
      restartPolicy: 'Never',
      containers: [
        aContainer('a', {
          restartPolicy: 'Never',
          restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'In', values: [42] } }],
        }),
        aContainer('b'),
      ],
    }),
    status: aRuntimeStatus([exited('a', 42), aContainerStatus('b')]),
    want: ['start a'],
  },
  {
    name: "without the gate a container's own policy and rules do not count",
    pod: aPod({ containers: [aContainer('a', { restartPolicy: 'Never' }), aContainer('b')] }),
    status: aRuntimeStatus([exited('a', 1), aContainerStatus('b')]),
    more: { containerRestartRules: false },
    want: ['start a'],
  },
  {
    name: 'a succeeded container with its own policy OnFailure is not started in a new sandbox',
    pod: aPod({ containers: [aContainer('a', { restartPolicy: 'OnFailure' }), aContainer('b')] }),
    status: aRuntimeStatus([exited('a', 0), exited('b', 0)], deadSandbox),
    want: ['kill pod', 'create sandbox 1', 'start b'],
  },
]);

const withEphemeral = aPod({ ephemeralContainers: [{ name: 'debug', image: 'busybox:1' }] });
testRows('the actions of ephemeral containers', [
  {
    name: 'an ephemeral container is started once',
    pod: withEphemeral,
    status: aRuntimeStatus([aContainerStatus('app')]),
    want: ['start ephemeral debug'],
  },
  {
    name: 'an exited ephemeral container is never restarted',
    pod: withEphemeral,
    status: aRuntimeStatus([exited('debug', 1), aContainerStatus('app')]),
    want: [],
  },
  {
    name: 'an ephemeral container does not wait for the init containers',
    pod: aPod({ ...withEphemeral.spec, initContainers: [aContainer('init')] }),
    status: aRuntimeStatus([aContainerStatus('init')]),
    want: ['start ephemeral debug'],
  },
  {
    name: 'an ephemeral container does not keep a pod running',
    pod: aPod({ ...withEphemeral.spec, restartPolicy: 'Never' }),
    status: aRuntimeStatus([aContainerStatus('debug'), exited('app', 0)]),
    want: ['kill pod'],
  },
  {
    name: 'a second ephemeral container is started next to the first one',
    pod: aPod({ ephemeralContainers: [...withEphemeral.spec.ephemeralContainers!, { name: 'debug2', image: 'busybox:1' }] }),
    status: aRuntimeStatus([aContainerStatus('debug'), aContainerStatus('app')]),
    want: ['start ephemeral debug2'],
  },
  {
    name: 'an ephemeral container in an unknown state is left alone',
    pod: withEphemeral,
    status: aRuntimeStatus([aContainerStatus('debug', { state: 'unknown' }), aContainerStatus('app')]),
    want: [],
  },
  {
    name: 'an ephemeral container is not started with a new sandbox',
    pod: withEphemeral,
    status: aRuntimeStatus([exited('app', 0)], deadSandbox),
    want: ['kill pod', 'create sandbox 1', 'start app'],
  },
]);

test('the message of a kill announces the restart', () => {
  const status = aRuntimeStatus([aContainerStatus('app', { hash: 'old' })]);
  const { containersToKill } = computePodActions({ pod: aPod(), status, ...defaultRestartGates });
  assert.equal(containersToKill[0]?.message, 'Container app definition changed, will be restarted');
});

test('the message of a kill in an unknown state names the state', () => {
  const status = aRuntimeStatus([aContainerStatus('app', { state: 'unknown' })]);
  const { containersToKill } = computePodActions({ pod: aPod(), status, ...defaultRestartGates });
  assert.equal(containersToKill[0]?.message, 'Container is in "unknown" state, try killing it before restart');
});
