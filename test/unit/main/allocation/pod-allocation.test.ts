import assert from 'node:assert/strict';
import { toAllocation, withAllocation } from '../../../../src/main/allocation/pod-allocation.ts';
import type { PodSpec, ResourceRequirements } from '../../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../../support/pods/pods.ts';
import { table } from '../../../support/table.ts';

interface Resources {
  readonly app?: ResourceRequirements | undefined;
  readonly sidecar?: ResourceRequirements;
  readonly init?: ResourceRequirements;
  readonly podLevel?: ResourceRequirements;
}

const podOf = ({ app, sidecar = {}, init = {}, podLevel }: Resources) =>
  aPod({
    spec: {
      containers: [{ name: 'app', image: 'x', ...(app && { resources: app }) }],
      initContainers: [
        aContainer({ name: 'init', resources: init }),
        aContainer({ name: 'sidecar', resources: sidecar, restartPolicy: 'Always' }),
      ],
      ...(podLevel && { resources: podLevel }),
    },
  });
const resourcesIn = ({ containers, initContainers, resources }: PodSpec) => ({
  app: containers[0]?.resources,
  init: initContainers?.[0]?.resources,
  sidecar: initContainers?.[1]?.resources,
  podLevel: resources,
});

const cpu = (amount: string) => ({ requests: { cpu: amount } });
const gates = { podLevel: true, initContainers: false };
/** `want` is the difference from the desired resources; null when the pod is returned unchanged. */
const rows: { name: string; admitted: Resources; desired: Resources; gates?: Partial<typeof gates>; want: Partial<Resources> | null }[] = [
  { name: 'nothing changed', admitted: { app: cpu('1') }, desired: { app: cpu('1') }, want: null },
  { name: 'the same quantity in another notation', admitted: { app: cpu('1') }, desired: { app: cpu('1000m') }, want: null },
  { name: 'absent and empty resources', admitted: {}, desired: { app: { requests: {} } }, want: null },
  { name: 'a container with a larger request', admitted: { app: cpu('1') }, desired: { app: cpu('900') }, want: { app: cpu('1') } },
  { name: 'a container with an invalid quantity', admitted: { app: cpu('1') }, desired: { app: cpu('much') }, want: { app: cpu('1') } },
  { name: 'a container with a smaller request', admitted: { app: cpu('1') }, desired: { app: cpu('1m') }, want: { app: cpu('1') } },
  { name: 'a container that had no requests', admitted: { app: {} }, desired: { app: cpu('900') }, want: { app: {} } },
  {
    name: 'an added limit',
    admitted: { app: cpu('1') },
    desired: { app: { ...cpu('1'), limits: { cpu: '1' } } },
    want: { app: cpu('1') },
  },
  {
    name: 'a request for another resource',
    admitted: { app: cpu('1') },
    desired: { app: { requests: { memory: '1' } } },
    want: { app: cpu('1') },
  },
  {
    name: 'a sidecar and pod-level resources',
    admitted: { sidecar: cpu('1'), podLevel: cpu('2') },
    desired: { sidecar: cpu('900'), podLevel: cpu('900') },
    want: { sidecar: cpu('1'), podLevel: cpu('2') },
  },
  { name: 'new pod-level resources', admitted: {}, desired: { podLevel: cpu('900') }, want: { podLevel: undefined as never } },
  {
    name: 'pod-level resources with the gate off',
    admitted: {},
    desired: { podLevel: cpu('900') },
    gates: { podLevel: false },
    want: null,
  },
  { name: 'an init container is not resized', admitted: { init: cpu('1') }, desired: { init: cpu('900') }, want: null },
  {
    name: 'an init container with its gate on',
    admitted: { init: cpu('1') },
    desired: { init: cpu('900') },
    gates: { initContainers: true },
    want: { init: cpu('1') },
  },
];

table('a pod keeps its allocated resources', (row) => {
  for (const { name, admitted, desired, gates: more, want } of rows) {
    row(name, () => {
      const options = { ...gates, ...more };
      const pod = podOf(desired);
      const made = withAllocation(pod, toAllocation(podOf(admitted), options), options);
      if (want === null) return assert.equal(made, pod);
      assert.deepEqual(resourcesIn(made.spec), { ...resourcesIn(pod.spec), ...want });
      assert.deepEqual(resourcesIn(pod.spec), resourcesIn(podOf(desired).spec));
    });
  }
});

const sameNames = [aContainer({ name: 'app', resources: cpu('1') }), aContainer({ name: 'app', resources: cpu('2') })];
const invalid: Record<string, PodSpec> = {
  'two containers with one name': { containers: sameNames },
  'a container with the name of an init container': { initContainers: sameNames.slice(1), containers: sameNames.slice(0, 1) },
};

// A pod whose own allocation differs from its spec would be resized forever.
table('a pod equals its own allocation', (row) => {
  for (const [name, spec] of Object.entries(invalid)) {
    row(name, () => {
      const pod = aPod({ spec });
      const options = { ...gates, initContainers: true };
      assert.equal(withAllocation(pod, toAllocation(pod, options), options), pod);
    });
  }
});
