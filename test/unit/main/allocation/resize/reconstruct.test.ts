import assert from 'node:assert/strict';
import { reconstructActuated } from '../../../../../src/main/allocation/resize/reconstruct.ts';
import type { ContainerStatus, PodStatus, ResourceRequirements } from '../../../../../src/shared/kubernetes/api.ts';
import { table } from '../../../../support/table.ts';
import { aContainer, aPod } from '../../../../support/pods/pods.ts';

const cpu = (amount: string) => ({ requests: { cpu: amount }, limits: { cpu: amount } });
const statusOf = (resources: ResourceRequirements | undefined, state: ContainerStatus['state']) =>
  ({
    containerStatuses: [{ name: 'app', image: '', imageID: '', ready: true, restartCount: 0, state, ...(resources && { resources }) }],
  }) as PodStatus;
const running = { running: {} };

interface Row {
  readonly name: string;
  readonly allocated: ResourceRequirements;
  readonly podLevel?: ResourceRequirements;
  readonly status?: PodStatus;
  readonly want: { readonly app?: ResourceRequirements; readonly podLevel?: ResourceRequirements };
}
const rows: Row[] = [
  { name: 'a running container has what was reported', allocated: cpu('2'), status: statusOf(cpu('1'), running), want: { app: cpu('1') } },
  {
    name: 'one whose resources were not reported has what is allocated',
    allocated: cpu('2'),
    status: statusOf(undefined, running),
    want: { app: cpu('2') },
  },
  { name: 'one that does not run needs no record', allocated: cpu('2'), status: statusOf(cpu('1'), { waiting: {} }), want: {} },
  { name: 'a pod without a status', allocated: cpu('2'), want: {} },
  {
    name: 'what is not allocated is not taken from the report',
    allocated: { requests: { cpu: '2' } },
    status: statusOf({ requests: { cpu: '1' }, limits: { memory: '1Gi' } }, running),
    want: { app: { requests: { cpu: '1' } } },
  },
  {
    name: 'the pod’s own resources',
    allocated: {},
    podLevel: { limits: { cpu: '3' } },
    status: { ...statusOf({}, running), resources: { limits: { cpu: '2', memory: '1Gi' } } },
    want: { app: {}, podLevel: { limits: { cpu: '2' } } },
  },
];

table('what is in force in a pod whose record is lost', (row) => {
  for (const { name, allocated, podLevel, status, want } of rows) {
    row(name, () => {
      const pod = aPod({
        spec: { containers: [aContainer({ resources: allocated })], ...(podLevel && { resources: podLevel }) },
        ...(status && { status }),
      });
      const { containers, ...ofPod } = reconstructActuated(pod, pod);
      assert.deepEqual({ ...Object.fromEntries(containers), ...ofPod }, want);
    });
  }
});
