/**
 * The resources that a pod's running containers have, as the checkpoint `actuated_pods_state` records them. This kubelet resizes no container. It
 * writes the file for a Go kubelet that takes over, which resizes each running container without a record, and restarts one whose resize policy says so.
 * Pure. Upstream: setActuatedContainerResources and UpdateActuatedPodLevelResources in pkg/kubelet/kuberuntime.
 */
import type { ResourceRequirements } from '../../shared/kubernetes/api.ts';
import { isZeroQuantity, tryParseQuantity } from '../../shared/kubernetes/quantity.ts';
import type { PodAllocation } from './pod-allocation.ts';

/**
 * Returns what is in force: what was recorded, since a Go kubelet may have left a resize that it has not finished, otherwise what was allocated.
 * A container that does not run yet has a record too, which nobody reads before it runs.
 */
export function computeActuated(allocation: PodAllocation, recorded: PodAllocation | undefined): PodAllocation {
  const containers = [...allocation.containers].map(([name, resources]): [string, ResourceRequirements] => [
    name,
    recorded?.containers.get(name) ?? withPodLimits(resources, allocation.podLevel),
  ]);
  const podLevel = recorded?.podLevel ?? allocation.podLevel;
  return { containers: new Map(containers), ...(podLevel && (podLevel.requests || podLevel.limits) && { podLevel }) };
}

/** A container without a limit of its own has its pod's. Upstream: GetLimits in pkg/kubelet/util. */
function withPodLimits(resources: ResourceRequirements, podLevel: ResourceRequirements | undefined): ResourceRequirements {
  const inherited = ['cpu', 'memory'].flatMap((name) => {
    const limit = podLevel?.limits?.[name];
    return limit !== undefined && !isZero(limit) && isZero(resources.limits?.[name]) ? [[name, limit] as const] : [];
  });
  return inherited.length === 0 ? resources : { ...resources, limits: { ...resources.limits, ...Object.fromEntries(inherited) } };
}

/** An invalid quantity is kept as it is. */
function isZero(text = '0'): boolean {
  const quantity = tryParseQuantity(text);
  return quantity !== null && isZeroQuantity(quantity);
}
