/** The pods that count against the node's resources. */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID } from '../../shared/kubernetes/ids.ts';
import { isTerminalPhase } from '../../shared/kubernetes/pod-phase.ts';
import type { AllocatedPod, AllocationManager } from '../allocation/index.ts';
import type { ApiStatusCache } from './api-status/index.ts';
import type { PodManager } from './pod-manager.ts';
import type { PodWorkers } from './workers/index.ts';

export interface ActivePodsDependencies {
  readonly podManager: PodManager;
  readonly podWorkers: PodWorkers;
  readonly statuses: ApiStatusCache;
  readonly allocationManager: Pick<AllocationManager, 'countedPod'>;
}

/** Returns the pods that use the node's resources or may do so: not ended, not rejected. Upstream: filterOutInactivePods. */
export function activePods({ podManager, podWorkers, statuses, allocationManager }: ActivePodsDependencies): AllocatedPod[] {
  return podManager.all().flatMap((pod) => (isActivePod({ podWorkers, statuses }, pod) ? [allocationManager.countedPod(pod)] : []));
}

/** Returns the pods whose resources are free, but whose host ports may be in use. Upstream counts all of such a pod. */
export function podsStoppingSandboxes({ podManager, podWorkers }: Pick<ActivePodsDependencies, 'podManager' | 'podWorkers'>): Pod[] {
  return podManager.all().filter((pod) => podWorkers.isStoppingSandboxes(podUID(pod)));
}

/** Upstream: isPodInactive. */
export function isActivePod({ podWorkers, statuses }: Pick<ActivePodsDependencies, 'podWorkers' | 'statuses'>, pod: Pod): boolean {
  const uid = podUID(pod);
  if (podWorkers.hasEnded(uid)) return false;
  return !isTerminalPhase(statuses.get(uid)?.phase ?? pod.status?.phase) || podWorkers.isTerminationRequested(uid);
}
