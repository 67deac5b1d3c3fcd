/**
 * Decides whether a resize is in progress: something that was allocated is not in force yet. Pure. Upstream: IsPodResizeInProgress in
 * pkg/kubelet/kuberuntime.
 */
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container } from '../../../shared/kubernetes/api.ts';
import { memoryLimitsOf } from '../../../shared/kubernetes/memory-volumes.ts';
import { compareQuantities } from '../../../shared/kubernetes/quantity.ts';
import { isSameResizable, resizableResources, withPodLimits } from '../../../shared/kubernetes/resizable-resources.ts';
import { isRestartableInitContainer } from '../../../shared/kubernetes/restart-policy.ts';
import type { AllocatedPod } from '../allocated-pod.ts';
import { unknownLimit, type ActuatedRecord } from '../actuated-resources.ts';

/** @param podLevel gate InPlacePodLevelResourcesVerticalScaling */
export function isResizeInProgress(
  { spec }: AllocatedPod,
  status: RuntimePodStatus | null,
  actuated: ActuatedRecord | undefined,
  podLevel: boolean,
): boolean {
  if (!actuated) return false;
  const podResources = podLevel ? spec.resources : undefined;
  if (podResources && actuated.podLevel && !isSameResizable(resizableResources(podResources), resizableResources(actuated.podLevel)))
    return true;
  const limits = memoryLimitsOf(spec);
  const isVolumeResized = ([name, limit]: readonly [string, string]) =>
    limit !== unknownLimit && limits.has(name) && compareQuantities(limits.get(name), limit) !== 0;
  if ([...(actuated.emptyDirLimits ?? [])].some(isVolumeResized)) return true;
  const containers = [...(spec.initContainers ?? []).filter(isRestartableInitContainer), ...spec.containers];
  return containers.some((container) => isRunning(container, status) && !isInForce(container));

  function isInForce({ name, resources = {} }: Container): boolean {
    const allocated = resizableResources(withPodLimits(resources, podResources));
    return isSameResizable(allocated, resizableResources(actuated?.containers.get(name)));
  }
}

/** A container that does not run has no resize in progress: it gets the allocated resources when it starts. */
function isRunning({ name }: Container, status: RuntimePodStatus | null): boolean {
  return status?.containers.find((container) => container.name === name)?.state === 'running';
}
