/** The pods that count against the node's resources. */
import type { Pod } from '../../shared/kubernetes/api.ts';
import { podUID } from '../../shared/kubernetes/ids.ts';
import { isTerminalPhase } from '../../shared/kubernetes/pod-phase.ts';
import type { AllocatedPod, AllocationManager } from '../allocation/index.ts';
import type { ApiStatusCache } from './api-status/index.ts';
import type { PodStates } from './lifecycle/pod-states.ts';
import type { PodManager } from './pod-manager.ts';

export interface ActivePodsDependencies {
  readonly podManager: Pick<PodManager, 'all'>;
  readonly podStates: Pick<PodStates, 'haveContainersEnded' | 'isTerminationRequested' | 'isStoppingSandboxes'>;
  readonly statuses: Pick<ApiStatusCache, 'get'>;
  readonly allocationManager: Pick<AllocationManager, 'countedPod' | 'isAdmitted'>;
}

export class ActivePods {
  readonly #deps: ActivePodsDependencies;

  constructor(dependencies: ActivePodsDependencies) {
    this.#deps = dependencies;
  }

  /** Upstream: isPodInactive. */
  isActive(pod: Pod): boolean {
    const { podStates, statuses } = this.#deps;
    const uid = podUID(pod);
    if (podStates.haveContainersEnded(uid)) return false;
    return !isTerminalPhase(statuses.get(uid)?.phase ?? pod.status?.phase) || podStates.isTerminationRequested(uid);
  }

  /**
   * Returns the pods that use the node's resources or may do so: not ended, not rejected. A pod that is not admitted yet counts with what its spec
   * asks for. Upstream: filterOutInactivePods.
   * @param isForResize see `AllocationManager.countedPod`
   */
  list(isForResize = false): AllocatedPod[] {
    const { podManager, allocationManager } = this.#deps;
    return podManager.all().flatMap((pod) => (this.isActive(pod) ? [allocationManager.countedPod(pod, isForResize)] : []));
  }

  /** Returns the active pods that were admitted. */
  listAdmitted(): AllocatedPod[] {
    return this.list().filter((pod) => this.#deps.allocationManager.isAdmitted(podUID(pod)));
  }

  /** Returns the pods whose resources are free, but whose host ports may be in use. Upstream counts all of such a pod. */
  listStoppingSandboxes(): Pod[] {
    const { podManager, podStates } = this.#deps;
    return podManager.all().filter((pod) => podStates.isStoppingSandboxes(podUID(pod)));
  }
}
