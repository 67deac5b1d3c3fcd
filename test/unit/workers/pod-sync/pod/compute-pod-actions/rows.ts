/** Runs table tests of computePodActions: each row has a pod, its runtime status and the expected actions in words. */
import assert from 'node:assert/strict';
import type { ProbeVerdict } from '../../../../../../src/shared/contracts/pod-sync/task.ts';
import type { RuntimePodStatus } from '../../../../../../src/shared/contracts/runtime-status.ts';
import type { Pod } from '../../../../../../src/shared/kubernetes/api.ts';
import type { ContainerID } from '../../../../../../src/shared/kubernetes/ids.ts';
import {
  computePodActions,
  type PodActions,
  type PodActionsInput,
} from '../../../../../../src/workers/pod-sync/pod/compute-pod-actions/index.ts';
import { table } from '../../../../../support/table.ts';
import { defaultRestartGates } from '../../../../../support/pods/status-features.ts';

export interface Row {
  readonly name: string;
  readonly pod: Pod;
  readonly status: RuntimePodStatus | null;
  readonly want: readonly string[];
  readonly more?: Partial<PodActionsInput>;
}

export function testRows(sentence: string, rows: readonly Row[]): void {
  table(sentence, (row) => {
    for (const { name, pod, status, want, more } of rows) {
      row(name, () => assert.deepEqual(describeActions(computePodActions({ pod, status, ...defaultRestartGates, ...more })), want));
    }
  });
}

/** Makes `more.probes` from verdicts by container ID. */
export function probes(verdicts: {
  startup?: Record<string, ProbeVerdict>;
  liveness?: Record<string, ProbeVerdict>;
}): NonNullable<PodActionsInput['probes']> {
  const toMap = (of: Record<string, ProbeVerdict> = {}) => new Map(Object.entries(of) as [ContainerID, ProbeVerdict][]);
  return { startup: toMap(verdicts.startup), liveness: toMap(verdicts.liveness) };
}

function describeActions(actions: PodActions): string[] {
  return [
    ...(actions.killPod ? ['kill pod'] : []),
    ...(actions.createSandbox ? [`create sandbox ${actions.attempt}`] : []),
    ...actions.containersToKill.map(({ id, reason }) => `kill ${id}${reason === '' ? '' : `: ${reason}`}`),
    ...actions.hooksToRepeat.map(({ id }) => `repeat the hook of ${id}`),
    ...actions.containersToReset.map(({ id, kill }) => `${kill ? 'kill and remove' : 'remove'} ${id}`),
    ...actions.ephemeralContainersToStart.map((container) => `start ephemeral ${container}`),
    ...actions.initContainersToStart.map((container) => `start init ${container}`),
    ...actions.containersToStart.map((container) => `start ${container}`),
  ];
}
