/** Why containers wait, read from a status that was said before: so that a kubelet that starts does not take it back before it has tried. */
import type { PodStatus } from '../../../shared/kubernetes/api.ts';
import type { WaitingReasons } from './container-statuses.ts';

/** Reasons that say no more than that the container's turn has not come: they are made anew each time. */
const plainReasons: ReadonlySet<string> = new Set(['ContainerCreating', 'PodInitializing']);

export function waitingReasonsIn(status: PodStatus | undefined): WaitingReasons {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  return Object.fromEntries(
    statuses.flatMap(({ name, state }) => {
      const { reason, message = '' } = state?.waiting ?? {};
      return reason !== undefined && !plainReasons.has(reason) ? [[name, { reason, message }]] : [];
    }),
  );
}
