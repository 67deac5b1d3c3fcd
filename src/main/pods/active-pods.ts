/** The pods that count against the node's resources. */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID } from '../../shared/kubernetes/ids.ts';
import { isTerminalPhase, type ApiStatusCache } from './api-status/index.ts';
import type { PodManager } from './pod-manager.ts';
import type { PodWorkers } from './workers/index.ts';

export interface ActivePodsDependencies {
  readonly podManager: PodManager;
  readonly podWorkers: PodWorkers;
  readonly statuses: ApiStatusCache;
}

/** Returns the pods that use the node's resources or may do so: not ended, not rejected. Upstream: filterOutInactivePods. */
export function activePods({ podManager, podWorkers, statuses }: ActivePodsDependencies): Pod[] {
  return podManager.all().filter((pod) => isActivePod({ podWorkers, statuses }, pod));
}

/** Upstream: isPodInactive. */
export function isActivePod({ podWorkers, statuses }: Omit<ActivePodsDependencies, 'podManager'>, pod: Pod): boolean {
  const uid = podUID(pod);
  if (podWorkers.hasEnded(uid)) return false;
  return !isTerminalPhase(statuses.get(uid)?.phase ?? pod.status?.phase) || podWorkers.isTerminationRequested(uid);
}
