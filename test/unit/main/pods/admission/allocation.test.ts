import assert from 'node:assert/strict';
import { toAllocation, withAllocation } from '../../../../../src/main/pods/admission/allocation.ts';
import type { PodSpec, ResourceRequirements } from '../../../../../src/shared/kubernetes/api.ts';
import { aContainer, aPod } from '../../../../support/pods.ts';
import { table } from '../../../../support/table.ts';

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
/** `want`: what differs from what is asked for; null: the pod is left as it is. */
const rows: { name: string; admitted: Resources; asked: Resources; gates?: Partial<typeof gates>; want: Partial<Resources> | null }[] = [
  { name: 'nothing was changed', admitted: { app: cpu('1') }, asked: { app: cpu('1') }, want: null },
  { name: 'the same amount in other words', admitted: { app: cpu('1') }, asked: { app: cpu('1000m') }, want: null },
  { name: 'no resources and empty ones', admitted: {}, asked: { app: { requests: {} } }, want: null },
  { name: 'a container that asks for more', admitted: { app: cpu('1') }, asked: { app: cpu('900') }, want: { app: cpu('1') } },
  { name: 'a container that asks for no amount', admitted: { app: cpu('1') }, asked: { app: cpu('much') }, want: { app: cpu('1') } },
  { name: 'a container that asks for less', admitted: { app: cpu('1') }, asked: { app: cpu('1m') }, want: { app: cpu('1') } },
  { name: 'a container that asked for nothing', admitted: { app: {} }, asked: { app: cpu('900') }, want: { app: {} } },
  {
    name: 'a limit that is added',
    admitted: { app: cpu('1') },
    asked: { app: { ...cpu('1'), limits: { cpu: '1' } } },
    want: { app: cpu('1') },
  },
  {
    name: 'a request for another resource',
    admitted: { app: cpu('1') },
    asked: { app: { requests: { memory: '1' } } },
    want: { app: cpu('1') },
  },
  {
    name: 'a sidecar and the pod as a whole',
    admitted: { sidecar: cpu('1'), podLevel: cpu('2') },
    asked: { sidecar: cpu('900'), podLevel: cpu('900') },
    want: { sidecar: cpu('1'), podLevel: cpu('2') },
  },
  { name: 'resources of the pod that are new', admitted: {}, asked: { podLevel: cpu('900') }, want: { podLevel: undefined as never } },
  { name: 'the pod as a whole, with the gate off', admitted: {}, asked: { podLevel: cpu('900') }, gates: { podLevel: false }, want: null },
  { name: 'an init container is not resized', admitted: { init: cpu('1') }, asked: { init: cpu('900') }, want: null },
  {
    name: 'an init container, with its gate on',
    admitted: { init: cpu('1') },
    asked: { init: cpu('900') },
    gates: { initContainers: true },
    want: { init: cpu('1') },
  },
];

table('a pod keeps the resources that it was admitted with', (row) => {
  for (const { name, admitted, asked, gates: more, want } of rows) {
    row(name, () => {
      const options = { ...gates, ...more };
      const pod = podOf(asked);
      const made = withAllocation(pod, toAllocation(podOf(admitted), options), options);
      if (want === null) return assert.equal(made, pod);
      assert.deepEqual(resourcesIn(made.spec), { ...resourcesIn(pod.spec), ...want });
      assert.deepEqual(resourcesIn(pod.spec), resourcesIn(podOf(asked).spec));
    });
  }
});
