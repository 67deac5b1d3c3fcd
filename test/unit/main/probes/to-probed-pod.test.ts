import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toProbedPod, type ProbedPodInput } from '../../../../src/main/probes/to-probed-pod.ts';
import type { ContainerID } from '../../../../src/shared/kubernetes/ids.ts';
import { aContainer, anExitedContainer, aPod, aRuntimeContainer, aRuntimePodStatus } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';

const id = (text: string) => text as ContainerID;
const exec = { exec: { command: ['true'] } };

const gates = { H2CContainerProbe: false, GRPCContainerProbeTLS: false };
function probedPod(input: Partial<ProbedPodInput> = {}) {
  const pod = aPod({ spec: { containers: [aContainer({ livenessProbe: exec, readinessProbe: { httpGet: { port: 80 } } })] } });
  const status = aRuntimePodStatus({ containers: [aRuntimeContainer()] });
  return toProbedPod({
    pod,
    status,
    podIP: '10.0.0.7',
    terminating: false,
    gates,
    hasStartedUp: () => false,
    isStarting: () => false,
    ...input,
  });
}
const names = (input: Partial<ProbedPodInput>) => probedPod(input).containers.map(({ name, id: one }) => `${name} ${one}`);

table('the newest running instances of regular containers and sidecars are probed', (row) => {
  const app = aContainer({ livenessProbe: exec });
  const spec = {
    initContainers: [
      aContainer({ name: 'init', livenessProbe: exec }),
      aContainer({ name: 'sidecar', restartPolicy: 'Always', startupProbe: exec }),
      aContainer({ name: 'plain', restartPolicy: 'Always' }),
    ],
    containers: [app, aContainer({ name: 'without' })],
    ephemeralContainers: [{ ...app, name: 'debug' }],
  };
  const all = ['init', 'sidecar', 'plain', 'app', 'without', 'debug'].map((name) => aRuntimeContainer({ name, id: id(`${name}-1`) }));
  row('all run', () =>
    assert.deepEqual(names({ pod: aPod({ spec }), status: aRuntimePodStatus({ containers: all }) }), ['app app-1', 'sidecar sidecar-1']),
  );
  row('a restarted one', () => {
    const containers = [aRuntimeContainer({ id: id('new') }), anExitedContainer(1, { id: id('old') })];
    assert.deepEqual(names({ status: aRuntimePodStatus({ containers }) }), ['app new']);
  });
  row('one that was created again, while an old instance runs', () => {
    const containers = [aRuntimeContainer({ id: id('new'), state: 'created' }), aRuntimeContainer({ id: id('old') })];
    assert.deepEqual(names({ status: aRuntimePodStatus({ containers }) }), []);
  });
  row('an exited one', () => assert.deepEqual(names({ status: aRuntimePodStatus({ containers: [anExitedContainer(0)] }) }), []));
  row('an unknown one', () =>
    assert.deepEqual(names({ status: aRuntimePodStatus({ containers: [aRuntimeContainer({ state: 'unknown' })] }) }), []),
  );
  row('nothing in the runtime', () => assert.deepEqual(names({ status: null }), []));
});

test('probes that need the pod’s IP wait for it; others do not', () => {
  const types = (podIP: string | undefined) => probedPod({ podIP }).containers[0]?.probes.map(({ probe }) => probe);
  assert.deepEqual(types(undefined), ['liveness']);
  assert.deepEqual(types('10.0.0.7'), ['readiness', 'liveness']);
});

test('a container has started without a startup probe, or when the probe has succeeded', () => {
  const pod = aPod({ spec: { containers: [aContainer({ startupProbe: exec })] } });
  const started = (input: Partial<ProbedPodInput>) => probedPod(input).containers[0]?.started;
  assert.deepEqual([started({}), started({ pod }), started({ pod, hasStartedUp: (one) => one === 'container-0' })], [true, false, true]);
});

test('a container whose postStart hook may still run is not probed', () => {
  assert.deepEqual(probedPod({ isStarting: (_, one) => one === 'container-0' }).containers, []);
});

test('the probes of a pod have a limited size together; what is beyond it cannot run', () => {
  const command = ['x'.repeat(100_000)];
  const probe = { exec: { command } };
  const containers = ['a', 'b'].map((name) => aContainer({ name, livenessProbe: { ...probe }, readinessProbe: { ...probe } }));
  const instances = ['a', 'b'].map((name) => aRuntimeContainer({ name, id: id(name) }));
  const { containers: converted } = probedPod({
    pod: aPod({ spec: { containers } }),
    status: aRuntimePodStatus({ containers: instances }),
  });
  const types = converted.flatMap(({ probes }) => probes.map(({ action }) => action.type));
  assert.deepEqual(types, ['exec', 'exec', 'invalid', 'invalid']);
});

test('an action is resolved once per version of a pod and IP', () => {
  const pod = aPod({ spec: { containers: [aContainer({ readinessProbe: { httpGet: { port: 80 } } })] } });
  const actionOf = (podIP: string) => probedPod({ pod, podIP }).containers[0]?.probes[0]?.action;
  const first = actionOf('10.0.0.7');
  assert.equal(actionOf('10.0.0.7'), first);
  assert.notDeepEqual(actionOf('10.0.0.8'), first);
});

test('fields that are not set have the API’s defaults', () => {
  const pod = aPod({
    spec: {
      containers: [
        aContainer({
          readinessProbe: exec,
          livenessProbe: { ...exec, initialDelaySeconds: 5, periodSeconds: 1, timeoutSeconds: 2, successThreshold: 1, failureThreshold: 7 },
        }),
      ],
    },
  });
  const action = { type: 'exec', command: ['true'] };
  assert.deepEqual(probedPod({ pod, terminating: true }), {
    uid: 'uid-web',
    namespace: 'default',
    name: 'web',
    terminating: true,
    containers: [
      {
        name: 'app',
        id: 'container-0',
        startedAtMs: 3000,
        started: true,
        probes: [
          {
            probe: 'readiness',
            action,
            initialDelaySeconds: 0,
            periodSeconds: 10,
            timeoutSeconds: 1,
            successThreshold: 1,
            failureThreshold: 3,
          },
          {
            probe: 'liveness',
            action,
            initialDelaySeconds: 5,
            periodSeconds: 1,
            timeoutSeconds: 2,
            successThreshold: 1,
            failureThreshold: 7,
          },
        ],
      },
    ],
  });
});

test('a container that only the runtime’s list knows started when it was created', () => {
  const status = aRuntimePodStatus({ containers: [aRuntimeContainer({ startedAtMs: 0, listedOnly: true })] });
  assert.equal(probedPod({ status }).containers[0]?.startedAtMs, 2000);
});
