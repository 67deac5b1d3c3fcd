/** Reads the waiting reasons from a previous status, so that a restarted kubelet keeps them until its first sync has tried the container. */
import type { PodStatus } from '../../../shared/kubernetes/api.ts';
import type { WaitingReasons } from './container-statuses.ts';

/** Reasons of a container that is not started yet. They are generated each time. */
const defaultReasons: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);

export function waitingReasonsIn(status: PodStatus | undefined): WaitingReasons {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return Object.fromEntries(
    statuses.flatMap(({ name, state }) => {
      const { reason, message = '' } = state?.waiting ?? {};
      return reason !== undefined && !defaultReasons.has(reason) ? [[name, { reason, message }]] : [];
    }),
  );
}
