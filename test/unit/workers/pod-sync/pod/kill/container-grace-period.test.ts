import assert from 'node:assert/strict';
import type { Pod } from '../../../../../../src/shared/kubernetes/api.ts';
import type { RuntimeContainerStatus } from '../../../../../../src/shared/contracts/runtime-status.ts';
import type { KillReason } from '../../../../../../src/workers/pod-sync/pod/compute-pod-actions/index.ts';
import { computeGracePeriodSeconds } from '../../../../../../src/workers/pod-sync/pod/kill/container-grace-period.ts';
import { aContainer, aPod } from '../../../../../support/pods/pod-sync-samples.ts';
import { table } from '../../../../../support/table.ts';

const probe = (terminationGracePeriodSeconds: number) => ({ httpGet: { port: 80 }, terminationGracePeriodSeconds });
const cases: {
  name: string;
  pod: Pod | null;
  reason?: KillReason;
  probes?: { startupProbe?: object; livenessProbe?: object };
  orphan?: RuntimeContainerStatus['orphan'];
  want: number;
}[] = [
  { name: "the pod's grace period is used", pod: aPod(), want: 30 },
  { name: 'a pod without a grace period has two seconds', pod: aPod({ terminationGracePeriodSeconds: undefined as never }), want: 2 },
  { name: 'the grace period of a deletion overrides the pod’s', pod: aPod({}, { deletionGracePeriodSeconds: 5 }), want: 5 },
  { name: 'the grace period of a deletion may be 0', pod: aPod({}, { deletionGracePeriodSeconds: 0 }), want: 0 },
  {
    name: 'a startup probe may have its own grace period',
    pod: aPod(),
    reason: 'StartupProbe',
    probes: { startupProbe: probe(4) },
    want: 4,
  },
  {
    name: 'a liveness probe may have its own grace period',
    pod: aPod(),
    reason: 'LivenessProbe',
    probes: { livenessProbe: probe(60) },
    want: 60,
  },
  {
    name: "a probe's grace period does not apply to the other probe",
    pod: aPod(),
    reason: 'LivenessProbe',
    probes: { startupProbe: probe(4) },
    want: 30,
  },
  {
    name: "a probe's grace period does not apply to a deleted pod",
    pod: aPod({}, { deletionGracePeriodSeconds: 7 }),
    reason: 'LivenessProbe',
    probes: { livenessProbe: probe(4) },
    want: 7,
  },
  {
    name: 'a pod without a spec has the grace period of its annotations',
    pod: null,
    orphan: { podTerminationGracePeriodSeconds: 12 },
    want: 12,
  },
  {
    name: 'a deleted pod without a spec has the deletion grace period of its annotations',
    pod: null,
    orphan: { podTerminationGracePeriodSeconds: 12, podDeletionGracePeriodSeconds: 3 },
    want: 3,
  },
  { name: 'a pod without a spec and annotations has two seconds', pod: null, orphan: {}, want: 2 },
];
table('the grace period of a container', (row) => {
  for (const { name, pod, reason = '', probes = {}, orphan, want } of cases) {
    row(name, () => {
      const container = aContainer('app', probes);
      assert.equal(computeGracePeriodSeconds({ pod, container, reason, ...(orphan && { orphan }) }), want);
    });
  }
});
