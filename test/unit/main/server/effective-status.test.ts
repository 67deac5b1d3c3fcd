import assert from 'node:assert/strict';
import type { PodStatus } from '../../../../src/shared/kubernetes/api.ts';
import { effectiveStatus } from '../../../../src/main/server/effective-status.ts';
import { table } from '../../../support/table.ts';

const ready: PodStatus = {
  phase: 'Running',
  conditions: [
    { type: 'Ready', status: 'True' },
    { type: 'Initialized', status: 'True' },
  ],
};

table('the pods API shows', (row) => {
  const cases: { name: string; own?: PodStatus; reported?: PodStatus; want: PodStatus }[] = [
    { name: 'the kubelet’s status', own: ready, reported: { phase: 'Pending' }, want: ready },
    { name: 'a pod without a status as pending', want: { phase: 'Pending' } },
    { name: 'the reported phase', reported: { phase: 'Failed', reason: 'Evicted' }, want: { phase: 'Failed', reason: 'Evicted' } },
    {
      name: 'a reported ready pod as not ready',
      reported: ready,
      want: {
        phase: 'Running',
        conditions: [
          { type: 'Ready', status: 'False', reason: 'ContainersNotReady', message: 'Kubelet is initializing pod containers' },
          { type: 'Initialized', status: 'True' },
        ],
      },
    },
  ];
  for (const { name, own, reported, want } of cases) row(name, () => assert.deepEqual(effectiveStatus(own, reported), want));
});
