/**
 * Completes the status of pods that are known only from the runtime's lists, because the runtime has not answered a status request for them
 * since the kubelet started. If the lists show the same object in the same state, the previous API status holds, so that a restart next to a
 * slow runtime removes nothing from the status. Upstream generates no status for such a pod.
 */
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../../../shared/kubernetes/api.ts';

/** Adds the addresses from the previous status to a listed-only sandbox. */
export function withPreviousAddresses(
  pod: Pod,
  status: RuntimePodStatus | null,
  previousStatus: PodStatus | undefined,
): RuntimePodStatus | null {
  const [sandbox, ...older] = status?.sandboxes ?? [];
  if (!status || !sandbox?.listedOnly || sandbox.state !== 'ready' || !previousStatus?.podIP) return status;
  const hostNetwork = pod.spec.hostNetwork ?? false;
  const podIPs = hostNetwork ? [] : (previousStatus.podIPs ?? [{ ip: previousStatus.podIP }]).map(({ ip }) => ip);
  return { ...status, podIPs, sandboxes: [{ ...sandbox, hostNetwork, podIPs }, ...older] };
}

/** The previous status of a listed-only container in the same state; undefined when it may not hold any more. */
export function previousContainerStatus(
  instance: RuntimeContainerStatus,
  previousStatus: ContainerStatus | undefined,
): ContainerStatus | undefined {
  if (!instance.listedOnly || !previousStatus) return undefined;
  const { state, lastState } = previousStatus;
  const holds =
    instance.state === 'running'
      ? state?.running !== undefined && isSameContainer(instance, previousStatus.containerID)
      : instance.state === 'exited' &&
        (isTerminationOf(instance, state) || (state?.waiting !== undefined && isTerminationOf(instance, lastState)));
  return holds ? previousStatus : undefined;
}

/** The previous `lastState`, when it is the termination of this listed-only container. */
export function previousLastState(
  instance: RuntimeContainerStatus,
  previousStatus: ContainerStatus | undefined,
): ContainerState | undefined {
  return instance.listedOnly && isTerminationOf(instance, previousStatus?.lastState) ? previousStatus?.lastState : undefined;
}

/** Returns whether an exit code is a guess: a list does not say how a container ended, and no earlier status does. */
export function hasGuessedExit(status: RuntimePodStatus | null, previousStatus: PodStatus | undefined): boolean {
  const { initContainerStatuses = [], containerStatuses = [] } = previousStatus ?? {};
  const previous = new Map([...initContainerStatuses, ...containerStatuses].map((container) => [container.name, container]));
  return (status?.containers ?? []).some((instance) => {
    if (!instance.listedOnly || instance.state !== 'exited') return false;
    const before = previous.get(instance.name);
    return !previousContainerStatus(instance, before) && !previousLastState(instance, before);
  });
}

function isTerminationOf(instance: RuntimeContainerStatus, state: ContainerState | undefined): boolean {
  return isSameContainer(instance, state?.terminated?.containerID);
}

/** Container IDs in the API have the form `<runtime>://<id>`. */
function isSameContainer({ id }: RuntimeContainerStatus, containerID: string | undefined): boolean {
  return containerID?.endsWith(`://${id}`) ?? false;
}
