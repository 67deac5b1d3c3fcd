/** Reads the waiting reasons from a previous status, so that a restarted kubelet keeps them until its first sync has tried the container. */
import type { PodStatus } from '../../../shared/kubernetes/api.ts';
import { waitingReasonsOf, type WaitingReasons } from '../../../shared/kubernetes/waiting-reasons.ts';

export function previousWaitingReasons(status: PodStatus | undefined): WaitingReasons {
  return waitingReasonsOf([...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])]);
}
