import type { Container, PodSpec } from '../../../../../../src/shared/kubernetes/api.ts';
import type { ContainerID, SandboxID } from '../../../../../../src/shared/kubernetes/ids.ts';
import {
  aContainer,
  aContainerStatus,
  aPod,
  aRuntimeStatus,
  aSandbox,
  aSidecar,
  exited,
} from '../../../../../support/pods/pod-sync-samples.ts';
import { probes, testRows, type Row } from './rows.ts';

const older = 'older' as SandboxID;
const dead = [aSandbox({ state: 'notReady' })];

const withInit = (spec: Partial<PodSpec> = {}) => aPod({ initContainers: [aContainer('i1'), aContainer('i2'), aContainer('i3')], ...spec });

testRows('the actions of init containers', [
  {
    name: 'a new pod starts only its first init container',
    pod: withInit(),
    status: null,
    want: ['kill pod', 'create sandbox 0', 'start init i1'],
  },
  {
    name: 'the first init container is started in a sandbox without containers',
    pod: withInit(),
    status: aRuntimeStatus([]),
    want: ['start init i1'],
  },
  {
    name: 'a dead sandbox is replaced under Never when its init containers completed and no container ran',
    pod: withInit({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([exited('i2', 0), exited('i1', 0)], dead),
    want: ['kill pod', 'create sandbox 1', 'start init i1'],
  },
  {
    name: 'a dead sandbox is not replaced under Never when it ended an init container',
    pod: withInit({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([exited('i2', 137), exited('i1', 0)], dead),
    want: ['kill pod'],
  },
  { name: 'a running init container is waited for', pod: withInit(), status: aRuntimeStatus([aContainerStatus('i1')]), want: [] },
  {
    name: 'the next init container is started when one has completed',
    pod: withInit(),
    status: aRuntimeStatus([exited('i1', 0)]),
    want: ['start init i2'],
  },
  {
    name: 'the containers are started when the last init container has completed',
    pod: withInit(),
    status: aRuntimeStatus([exited('i3', 0), exited('i2', 0), exited('i1', 0)]),
    want: ['start app'],
  },
  {
    name: 'removed init containers do not run again while a later one runs',
    pod: withInit(),
    status: aRuntimeStatus([aContainerStatus('i3')]),
    want: [],
  },
  {
    name: 'init containers do not run again while a container of the pod runs',
    pod: withInit(),
    status: aRuntimeStatus([aContainerStatus('app')]),
    want: [],
  },
  {
    name: 'init containers that were removed do not run again when a container of the same sandbox has exited',
    pod: withInit(),
    status: aRuntimeStatus([exited('app', 1)]),
    want: ['start app'],
  },
  {
    name: 'a container of an older sandbox does not prove that the init containers of this sandbox ran',
    pod: withInit(),
    status: aRuntimeStatus([exited('app', 1, { sandboxID: older })], [aSandbox(), aSandbox({ id: older, state: 'notReady' })]),
    want: ['start init i1'],
  },
  {
    name: 'a container of an older sandbox that seems to run does not prove it, either',
    pod: withInit(),
    status: aRuntimeStatus([aContainerStatus('app', { sandboxID: older })], [aSandbox(), aSandbox({ id: older, state: 'notReady' })]),
    want: ['start init i1'],
  },
  {
    name: 'an init container that completed in an older sandbox runs again in this one',
    pod: withInit(),
    status: aRuntimeStatus([exited('i3', 0, { sandboxID: older })], [aSandbox(), aSandbox({ id: older, state: 'notReady' })]),
    want: ['start init i1'],
  },
  {
    name: 'an init container that failed in an older sandbox does not end a pod under Never',
    pod: withInit({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([exited('i1', 1, { sandboxID: older })], [aSandbox(), aSandbox({ id: older, state: 'notReady' })]),
    want: ['start init i1'],
  },
  {
    name: 'a failed init container runs again under Always',
    pod: withInit(),
    status: aRuntimeStatus([exited('i2', 1), exited('i1', 0)]),
    want: ['start init i2'],
  },
  {
    name: 'a failed init container runs again under OnFailure',
    pod: withInit({ restartPolicy: 'OnFailure' }),
    status: aRuntimeStatus([exited('i2', 1), exited('i1', 0)]),
    want: ['start init i2'],
  },
  {
    name: 'a failed init container kills the pod under Never',
    pod: withInit({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([exited('i2', 1), exited('i1', 0)]),
    want: ['kill pod'],
  },
  {
    name: 'an init container killed for memory has failed, even with exit code 0',
    pod: withInit({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([exited('i1', 0, { reason: 'OOMKilled' })]),
    want: ['kill pod'],
  },
  {
    name: "a failed init container's own restart rule keeps the pod under Never",
    pod: withInit({
      restartPolicy: 'Never',
      initContainers: [
        aContainer('i1', {
          restartPolicy: 'Never',
          restartPolicyRules: [{ action: 'Restart', exitCodes: { operator: 'NotIn', values: [2] } }],
        }),
      ],
    }),
    status: aRuntimeStatus([exited('i1', 1)]),
    want: ['start init i1'],
  },
  {
    name: 'an init container in an unknown state is killed and runs again under Always',
    pod: withInit(),
    status: aRuntimeStatus([aContainerStatus('i2', { state: 'unknown' }), exited('i1', 0)]),
    want: ['kill i2-1: Unknown', 'start init i2'],
  },
  {
    name: 'an init container in an unknown state kills the pod under Never',
    pod: withInit({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([aContainerStatus('i2', { state: 'unknown' }), exited('i1', 0)]),
    want: ['kill pod'],
  },
  {
    name: 'an init container that was created but not started is started again, even under Never',
    pod: withInit({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([aContainerStatus('i3', { state: 'created' }), exited('i2', 0), exited('i1', 0)]),
    want: ['start init i3'],
  },
  {
    name: 'after a dead sandbox the pod starts again from its first init container',
    pod: withInit(),
    status: aRuntimeStatus([exited('app', 1), exited('i3', 0), exited('i2', 0), exited('i1', 0)], dead),
    want: ['kill pod', 'create sandbox 1', 'start init i1'],
  },
  {
    name: 'a dead sandbox is not replaced under Never when an init container failed',
    pod: withInit({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([exited('i2', 1), exited('i1', 0)], dead),
    want: ['kill pod'],
  },
  {
    name: 'a dead sandbox is replaced under Never when no container was ever created',
    pod: withInit({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([], dead),
    want: ['kill pod', 'create sandbox 1', 'start init i1'],
  },
  {
    name: 'a dead sandbox is replaced under OnFailure when an init container failed',
    pod: withInit({ restartPolicy: 'OnFailure' }),
    status: aRuntimeStatus([exited('i2', 1), exited('i1', 0)], dead),
    want: ['kill pod', 'create sandbox 1', 'start init i1'],
  },
]);

const probed = { httpGet: { port: 80 } };
const withSidecars = (spec: Partial<PodSpec> = {}, first: Partial<Container> = {}, last: Partial<Container> = {}) =>
  aPod({ initContainers: [aSidecar('s1', first), aSidecar('s2'), aSidecar('s3', last)], ...spec });
const allSidecars = ['s3', 's2', 's1'].map((name) => aContainerStatus(name));

const sidecarRows: Row[] = [
  { name: 'a new pod starts with its first sidecar', pod: withSidecars(), status: aRuntimeStatus([]), want: ['start init s1'] },
  {
    name: 'the next sidecar is started once one runs',
    pod: withSidecars(),
    status: aRuntimeStatus([aContainerStatus('s1')]),
    want: ['start init s2'],
  },
  {
    name: 'the containers are started once the last sidecar runs',
    pod: withSidecars(),
    status: aRuntimeStatus(allSidecars),
    want: ['start app'],
  },
  {
    name: 'a sidecar that was created but not started is started again',
    pod: withSidecars(),
    status: aRuntimeStatus([aContainerStatus('s1', { state: 'created' })]),
    want: ['start init s1'],
  },
  {
    name: 'a sidecar without a startup verdict delays the next one',
    pod: withSidecars({}, { startupProbe: probed }),
    status: aRuntimeStatus([aContainerStatus('s1')]),
    more: { probes: probes({}) },
    want: [],
  },
  {
    name: 'a sidecar that has started up lets the next one start',
    pod: withSidecars({}, { startupProbe: probed }),
    status: aRuntimeStatus([aContainerStatus('s1')]),
    more: { probes: probes({ startup: { 's1-1': 'success' } }) },
    want: ['start init s2'],
  },
  {
    name: 'on a node without probes a startup probe delays nothing',
    pod: withSidecars({}, { startupProbe: probed }),
    status: aRuntimeStatus([aContainerStatus('s1')]),
    want: ['start init s2'],
  },
  {
    name: 'a sidecar that failed its startup probe is replaced, and the next one waits',
    pod: withSidecars({}, { startupProbe: probed }),
    status: aRuntimeStatus([aContainerStatus('s1')]),
    more: { probes: probes({ startup: { 's1-1': 'failure' } }) },
    want: ['kill s1-1: StartupProbe', 'start init s1'],
  },
  {
    name: 'a missing liveness verdict does not delay the next sidecar',
    pod: withSidecars({}, { livenessProbe: probed }),
    status: aRuntimeStatus([aContainerStatus('s1')]),
    more: { probes: probes({}) },
    want: ['start init s2'],
  },
  {
    name: 'a last sidecar that failed its liveness probe is replaced, and the containers are started',
    pod: withSidecars({}, {}, { livenessProbe: probed }),
    status: aRuntimeStatus(allSidecars),
    more: { probes: probes({ liveness: { 's3-1': 'failure' } }) },
    want: ['kill s3-1: LivenessProbe', 'start init s3', 'start app'],
  },
  {
    name: 'a sidecar with a changed definition is replaced while the containers run',
    pod: withSidecars(),
    status: aRuntimeStatus([
      aContainerStatus('app'),
      aContainerStatus('s3'),
      aContainerStatus('s2', { hash: 'old' }),
      aContainerStatus('s1'),
    ]),
    want: ['kill s2-1', 'start init s2'],
  },
  {
    name: 'a terminated sidecar is started again, with the next one after the last that runs',
    pod: withSidecars(),
    status: aRuntimeStatus([aContainerStatus('s2'), exited('s1', 0)]),
    want: ['start init s1', 'start init s3'],
  },
  {
    name: 'terminated sidecars are started again in order, and terminated containers with them',
    pod: withSidecars(),
    status: aRuntimeStatus([exited('app', 0), aContainerStatus('s3'), exited('s2', 0), exited('s1', 137)]),
    want: ['start init s1', 'start init s2', 'start app'],
  },
  {
    name: 'a sidecar runs again even under Never',
    pod: withSidecars({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([exited('s3', 1), aContainerStatus('s2'), aContainerStatus('s1')]),
    want: ['start init s3'],
  },
  {
    name: 'a sidecar in an unknown state is killed and started again even under Never',
    pod: withSidecars({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([aContainerStatus('s3', { state: 'unknown' }), aContainerStatus('s2'), aContainerStatus('s1')]),
    want: ['kill s3-1: Unknown', 'start init s3'],
  },
  {
    name: 'a removed sidecar is started again while the containers run',
    pod: withSidecars({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([aContainerStatus('app'), aContainerStatus('s3'), aContainerStatus('s1')]),
    want: ['start init s2'],
  },
  {
    name: 'sidecars do not keep a pod running whose containers have finished',
    pod: withSidecars({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([exited('app', 0), aContainerStatus('s3'), exited('s2', 1), aContainerStatus('s1')]),
    want: ['kill pod'],
  },
  {
    name: 'a finished pod ends, and its last sidecar is not restarted before',
    pod: withSidecars({ restartPolicy: 'OnFailure' }),
    status: aRuntimeStatus([exited('app', 0), exited('s3', 1), aContainerStatus('s2'), aContainerStatus('s1')]),
    want: ['kill pod'],
  },
  {
    name: 'after a dead sandbox the pod starts again from its first sidecar',
    pod: withSidecars(),
    status: aRuntimeStatus([exited('app', 1), ...['s3', 's2', 's1'].map((name) => exited(name, 0))], dead),
    want: ['kill pod', 'create sandbox 1', 'start init s1'],
  },
  {
    name: 'a dead sandbox is replaced under Never when only a sidecar ran',
    pod: withSidecars({ restartPolicy: 'Never' }),
    status: aRuntimeStatus([exited('s1', 1)], dead),
    want: ['kill pod', 'create sandbox 1', 'start init s1'],
  },
  {
    name: 'a sidecar between init containers keeps running while the next init container is started',
    pod: aPod({ initContainers: [aSidecar('s1'), aContainer('i2'), aSidecar('s3')] }),
    status: aRuntimeStatus([exited('i2', 0), aContainerStatus('s1')]),
    want: ['start init s3'],
  },
  {
    name: 'a completed init container that changed does not run again',
    pod: aPod({ initContainers: [aContainer('i1'), aSidecar('s2')] }),
    status: aRuntimeStatus([aContainerStatus('app'), aContainerStatus('s2'), exited('i1', 1, { hash: 'old' })]),
    want: [],
  },
];
testRows('the actions of sidecars', sidecarRows);

const restartAll = { action: 'RestartAllContainers', exitCodes: { operator: 'In', values: [88] } };
testRows('the actions of RestartAllContainers', [
  {
    name: 'RestartAllContainers removes the container that triggered it last, and starts nothing yet',
    pod: aPod({
      initContainers: [aContainer('i1'), aSidecar('s1')],
      containers: [aContainer('a', { restartPolicy: 'Never', restartPolicyRules: [restartAll] }), aContainer('b')],
    }),
    status: aRuntimeStatus([exited('a', 88), aContainerStatus('b'), aContainerStatus('s1'), exited('i1', 0)]),
    more: { restartAllContainers: true },
    want: ['kill and remove b-1', 'remove i1-1', 'kill and remove s1-1', 'remove a-1'],
  },
  {
    name: 'RestartAllContainers also removes older instances',
    pod: aPod({ containers: [aContainer('a', { restartPolicy: 'Never', restartPolicyRules: [restartAll] })] }),
    status: aRuntimeStatus([exited('a', 88, { id: 'a-2' as ContainerID }), exited('a', 1)]),
    more: { restartAllContainers: true },
    want: ['remove a-1', 'remove a-2'],
  },
  {
    name: 'after RestartAllContainers the pod starts again in its sandbox',
    pod: aPod({
      initContainers: [aContainer('i1')],
      containers: [aContainer('a', { restartPolicy: 'Never', restartPolicyRules: [restartAll] })],
    }),
    status: aRuntimeStatus([]),
    want: ['start init i1'],
  },
]);
