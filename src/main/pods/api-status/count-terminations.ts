/** Counts the containers that a status change shows as newly terminated. Upstream: updateStatusInternal in pkg/kubelet/status. */
import type { ContainerStatus, PodStatus } from '../../../shared/kubernetes/api.ts';
import { terminatedContainers } from '../../../shared/metrics/definitions/pods.ts';

/** The container lists of a status, with upstream's value of the label `container_type`. */
const kinds = [
  ['initContainerStatuses', 'init_container'],
  ['containerStatuses', 'container'],
  ['ephemeralContainerStatuses', 'ephemeral_container'],
] as const;

/** Counts each container once: when `next` shows it as terminated and `previousStatus` did not. */
export function countTerminations(previousStatus: PodStatus | undefined, next: PodStatus): void {
  for (const [list, containerType] of kinds) {
    for (const { name, state } of next[list] ?? []) {
      if (!state?.terminated || wasTerminated(previousStatus?.[list], name)) continue;
      const { exitCode, reason = '' } = state.terminated;
      terminatedContainers.inc({ container_type: containerType, exit_code: String(exitCode), reason });
    }
  }
}

function wasTerminated(statuses: readonly ContainerStatus[] | undefined, name: string): boolean {
  return statuses?.find((status) => status.name === name)?.state?.terminated !== undefined;
}
