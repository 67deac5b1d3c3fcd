/** Counts containers that ended, as the change of their pod's status shows it. Upstream: updateStatusInternal in pkg/kubelet/status. */
import type { ContainerStatus, PodStatus } from '../../../shared/kubernetes/api.ts';
import { terminatedContainers } from '../../../shared/metrics/definitions/pods.ts';

/** Upstream's names of the kinds, by the list that they are in. */
const kinds = [
  ['initContainerStatuses', 'init_container'],
  ['containerStatuses', 'container'],
  ['ephemeralContainerStatuses', 'ephemeral_container'],
] as const;

/** A container counts once: when it is shown as terminated and was not before. */
export function countTerminations(before: PodStatus | undefined, next: PodStatus): void {
  for (const [list, containerType] of kinds) {
    for (const { name, state } of next[list] ?? []) {
      if (!state?.terminated || hadEnded(before?.[list], name)) continue;
      const { exitCode, reason = '' } = state.terminated;
      terminatedContainers.inc({ container_type: containerType, exit_code: String(exitCode), reason });
    }
  }
}

function hadEnded(statuses: readonly ContainerStatus[] | undefined, name: string): boolean {
  return statuses?.find((status) => status.name === name)?.state?.terminated !== undefined;
}
