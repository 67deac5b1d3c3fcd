import assert from 'node:assert/strict';
import { computeActuated } from '../../../../src/main/allocation/actuated-resources.ts';
import type { ResourceRequirements } from '../../../../src/shared/kubernetes/api.ts';
import { table } from '../../../support/table.ts';

interface Resources {
  readonly app?: ResourceRequirements;
  readonly podLevel?: ResourceRequirements;
}
const allocationOf = ({ app, podLevel }: Resources) => ({ containers: new Map(app ? [['app', app]] : []), ...(podLevel && { podLevel }) });
const memory = (limit: string) => ({ limits: { memory: limit } });
const cpu = (limit: string) => ({ limits: { cpu: limit } });

const rows: { name: string; allocated: Resources; recorded?: Resources; want: Resources }[] = [
  { name: 'a container without a record has what was allocated', allocated: { app: memory('1Gi') }, want: { app: memory('1Gi') } },
  { name: 'a container without resources', allocated: { app: {} }, want: { app: {} } },
  {
    name: 'a resize that another kubelet has not finished',
    allocated: { app: memory('2Gi') },
    recorded: { app: memory('1Gi') },
    want: { app: memory('1Gi') },
  },
  {
    name: 'a record that lacks the container',
    allocated: { app: memory('2Gi') },
    recorded: {},
    want: { app: memory('2Gi') },
  },
  {
    name: 'a limit of the pod counts for a container without one',
    allocated: { app: cpu('1'), podLevel: { limits: { cpu: '2', memory: '1Gi', 'hugepages-2Mi': '2Mi' } } },
    want: {
      app: { limits: { cpu: '1', memory: '1Gi' } },
      podLevel: { limits: { cpu: '2', memory: '1Gi', 'hugepages-2Mi': '2Mi' } },
    },
  },
  {
    name: 'a limit of zero is none',
    allocated: { app: cpu('0'), podLevel: { limits: { cpu: '2', memory: '0' } } },
    want: { app: cpu('2'), podLevel: { limits: { cpu: '2', memory: '0' } } },
  },
  { name: 'an invalid limit stays', allocated: { app: cpu('much'), podLevel: cpu('2') }, want: { app: cpu('much'), podLevel: cpu('2') } },
  { name: 'empty resources of the pod are no record', allocated: { app: {}, podLevel: {} }, want: { app: {} } },
];

table('the resources in force', (row) => {
  for (const { name, allocated, recorded, want } of rows)
    row(name, () => assert.deepEqual(computeActuated(allocationOf(allocated), recorded && allocationOf(recorded)), allocationOf(want)));
});
