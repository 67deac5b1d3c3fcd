/**
 * Which dead containers of a pod go as soon as another one dies: pure. The rest is left to container GC. Upstream:
 * pkg/kubelet/pod_container_deletor.go and cleanUpContainersInPod.
 */
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../shared/contracts/runtime-status.ts';
import type { ContainerID } from '../../shared/kubernetes/ids.ts';

/**
 * The dead containers to remove now that `died` has died, newest first.
 * @param keep dead containers left of each name (maximum-dead-containers-per-container)
 * @param removeAll the pod is deleted or evicted for good: nobody will ask for its logs
 */
export function containersToDelete(
  status: RuntimePodStatus,
  died: ContainerID,
  { keep, removeAll }: { readonly keep: number; readonly removeAll: boolean },
): ContainerID[] {
  const dead = status.containers.filter((container) => container.state === 'exited').toSorted(byNewest);
  if (removeAll) return dead.map(({ id }) => id);
  const name = status.containers.find((container) => container.id === died)?.name;
  if (name === undefined) return [];
  return dead
    .filter((container) => container.name === name)
    .slice(keep)
    .map(({ id }) => id);
}

function byNewest(a: RuntimeContainerStatus, b: RuntimeContainerStatus): number {
  return b.createdAtMs - a.createdAtMs;
}
