/**
 * Selects the dead containers of a pod that are removed when a container starts or dies. Pure. Container garbage collection removes the rest.
 * Upstream: pkg/kubelet/pod_container_deletor.go and cleanUpContainersInPod.
 */
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { ContainerID } from '../../../shared/kubernetes/ids.ts';

/**
 * Returns the dead containers to remove when `changed` has started or died, newest first.
 *
 * When a container has died, `keepCount + 1` dead instances stay: the pod's status still names the instance before it as the last state, and
 * `kubectl logs --previous` reads the log of that instance. The instance is removed when the next one has started, whose last state is `changed`.
 * @param keepCount dead containers kept per container name (maximum-dead-containers-per-container)
 * @param removeAll the pod is deleted or evicted: its logs are not needed
 */
export function containersToDelete(
  status: RuntimePodStatus,
  changed: ContainerID,
  { maxDeadPerContainer: keepCount, removeAll }: { readonly maxDeadPerContainer: number; readonly removeAll: boolean },
): ContainerID[] {
  const dead = status.containers.filter((container) => container.state === 'exited').toSorted(byNewest);
  if (removeAll) return dead.map(({ id }) => id);
  const container = status.containers.find(({ id }) => id === changed);
  if (container === undefined) return [];
  return dead
    .filter(({ name }) => name === container.name)
    .slice(container.state === 'exited' ? keepCount + 1 : keepCount)
    .map(({ id }) => id);
}

function byNewest(a: RuntimeContainerStatus, b: RuntimeContainerStatus): number {
  return b.restartCount - a.restartCount || b.createdAtMs - a.createdAtMs;
}
