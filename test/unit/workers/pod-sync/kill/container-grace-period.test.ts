import assert from 'node:assert/strict';
import type { Pod } from '../../../../../src/shared/kubernetes/api.ts';
import type { RuntimeContainerStatus } from '../../../../../src/shared/contracts/runtime-status.ts';
import type { KillReason } from '../../../../../src/workers/pod-sync/compute-pod-actions/index.ts';
import { terminationGracePeriodSeconds } from '../../../../../src/workers/pod-sync/kill/container-grace-period.ts';
import { aContainer, aPod } from '../../../../support/pod-sync-samples.ts';
import { table } from '../../../../support/table.ts';

const probe = (terminationGracePeriodSeconds: number) => ({ httpGet: { port: 80 }, terminationGracePeriodSeconds });
const cases: {
  name: string;
  pod: Pod | null;
  reason?: KillReason;
  probes?: { startupProbe?: object; livenessProbe?: object };
  orphan?: RuntimeContainerStatus['orphan'];
  want: number;
}[] = [
  { name: "the pod's own grace period holds", pod: aPod(), want: 30 },
  { name: 'a pod without one has two seconds', pod: aPod({ terminationGracePeriodSeconds: undefined as never }), want: 2 },
  { name: 'the grace period of a deletion goes first', pod: aPod({}, { deletionGracePeriodSeconds: 5 }), want: 5 },
  { name: 'a deletion may give no time at all', pod: aPod({}, { deletionGracePeriodSeconds: 0 }), want: 0 },
  { name: 'a startup probe may have its own', pod: aPod(), reason: 'StartupProbe', probes: { startupProbe: probe(4) }, want: 4 },
  { name: 'a liveness probe may have its own', pod: aPod(), reason: 'LivenessProbe', probes: { livenessProbe: probe(60) }, want: 60 },
  {
    name: "a probe's own does not hold for the other probe",
    pod: aPod(),
    reason: 'LivenessProbe',
    probes: { startupProbe: probe(4) },
    want: 30,
  },
  {
    name: "a probe's own does not hold once the pod is deleted",
    pod: aPod({}, { deletionGracePeriodSeconds: 7 }),
    reason: 'LivenessProbe',
    probes: { livenessProbe: probe(4) },
    want: 7,
  },
  {
    name: 'a pod that only the runtime knows goes by its annotations',
    pod: null,
    orphan: { podTerminationGracePeriodSeconds: 12 },
    want: 12,
  },
  {
    name: 'so does one that was being deleted',
    pod: null,
    orphan: { podTerminationGracePeriodSeconds: 12, podDeletionGracePeriodSeconds: 3 },
    want: 3,
  },
  { name: 'one without annotations has two seconds', pod: null, orphan: {}, want: 2 },
];
table('how long a pod may take to end', (row) => {
  for (const { name, pod, reason = '', probes = {}, orphan, want } of cases) {
    row(name, () => {
      const container = aContainer('app', probes);
      assert.equal(terminationGracePeriodSeconds({ pod, container, reason, ...(orphan && { orphan }) }), want);
    });
  }
});
