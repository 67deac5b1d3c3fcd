/**
 * Of what the runtime has not answered about since this kubelet began, its lists are all that is known. Where they show the same thing in
 * the same state, what was said of it before holds: a kubelet that starts beside a slow or wedged runtime takes nothing back. (Upstream
 * makes no status of such a pod.)
 */
import type { RuntimeContainerStatus, RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { ContainerState, ContainerStatus, Pod, PodStatus } from '../../../shared/kubernetes/api.ts';

/** The status with the addresses that its sandbox had. */
export function withPreviousAddresses(pod: Pod, status: RuntimePodStatus | null, before: PodStatus | undefined): RuntimePodStatus | null {
  const [sandbox, ...older] = status?.sandboxes ?? [];
  if (!status || !sandbox?.listedOnly || sandbox.state !== 'ready' || !before?.podIP) return status;
  const hostNetwork = pod.spec.hostNetwork ?? false;
  const podIPs = hostNetwork ? [] : (before.podIPs ?? [{ ip: before.podIP }]).map(({ ip }) => ip);
  return { ...status, podIPs, sandboxes: [{ ...sandbox, hostNetwork, podIPs }, ...older] };
}

/** What was said of that very container; undefined: nothing that is known to hold. */
export function previousContainerStatus(seen: RuntimeContainerStatus, before: ContainerStatus | undefined): ContainerStatus | undefined {
  if (!seen.listedOnly || !before) return undefined;
  const { state, lastState } = before;
  const holds =
    seen.state === 'running'
      ? state?.running !== undefined && isOf(seen, before.containerID)
      : seen.state === 'exited' && (isEndOf(seen, state) || (state?.waiting !== undefined && isEndOf(seen, lastState)));
  return holds ? before : undefined;
}

/** The last state that was said, if it was that container's end. */
export function previousLastState(seen: RuntimeContainerStatus, before: ContainerStatus | undefined): ContainerState | undefined {
  return seen.listedOnly && isEndOf(seen, before?.lastState) ? before?.lastState : undefined;
}

function isEndOf(seen: RuntimeContainerStatus, state: ContainerState | undefined): boolean {
  return isOf(seen, state?.terminated?.containerID);
}

/** The API names it `<runtime>://<id>`. */
function isOf({ id }: RuntimeContainerStatus, containerID: string | undefined): boolean {
  return containerID?.endsWith(`://${id}`) ?? false;
}
