import assert from 'node:assert/strict';
import { isResizeInProgress } from '../../../../../src/main/allocation/resize/progress.ts';
import type { ResourceRequirements } from '../../../../../src/shared/kubernetes/api.ts';
import { table } from '../../../../support/table.ts';
import { aContainer, aPod, aRuntimeContainer, aRuntimePodStatus, anExitedContainer } from '../../../../support/pods/pods.ts';

const cpu = (limit: string) => ({ limits: { cpu: limit } });
const running = aRuntimePodStatus({ containers: [aRuntimeContainer()] });
const exited = aRuntimePodStatus({ containers: [anExitedContainer(0)] });
interface Row {
  readonly name: string;
  readonly allocated: ResourceRequirements;
  readonly podLevel?: [allocated: ResourceRequirements, actuated: ResourceRequirements];
  readonly actuated?: ResourceRequirements;
  readonly status?: typeof running;
  readonly want: boolean;
}
const rows: Row[] = [
  { name: 'without a record', allocated: cpu('1'), want: false },
  { name: 'with the same amount', allocated: cpu('1'), actuated: cpu('1000m'), want: false },
  { name: 'with another limit', allocated: cpu('2'), actuated: cpu('1'), want: true },
  { name: 'that does not run', allocated: cpu('2'), actuated: cpu('1'), status: exited, want: false },
  { name: 'in a pod with another limit', allocated: cpu('1'), actuated: cpu('1'), podLevel: [cpu('3'), cpu('2')], want: true },
  { name: 'with its pod’s limit', allocated: {}, actuated: cpu('2'), podLevel: [cpu('2'), cpu('2')], want: false },
];

table('the resize of a volume in memory', (row) => {
  for (const [limit, want] of [
    ['1Mi', false],
    ['1024Ki', false],
    ['2Mi', true],
  ] as const) {
    row(limit, () => {
      const pod = aPod({
        spec: { containers: [aContainer()], volumes: [{ name: 'm', emptyDir: { medium: 'Memory', sizeLimit: limit } }] },
      });
      const record = { containers: new Map(), emptyDirLimits: new Map([['m', '1Mi']]) };
      assert.equal(isResizeInProgress(pod, running, record, true), want);
    });
  }
});

table('the resize of a container', (row) => {
  for (const { name, allocated, podLevel, actuated, status = running, want } of rows) {
    row(name, () => {
      const pod = aPod({ spec: { containers: [aContainer({ resources: allocated })], ...(podLevel && { resources: podLevel[0] }) } });
      const record = actuated && { containers: new Map([['app', actuated]]), ...(podLevel && { podLevel: podLevel[1] }) };
      assert.equal(isResizeInProgress(pod, status, record, true), want);
    });
  }
});
