/**
 * Reconstructs what is in force in a pod whose record is lost, from the status that this node has last reported. Without it a resize that was not finished
 * would count as finished; upstream takes a missing record for no resources at all, and restarts containers whose policy asks for it. Pure.
 */
import type { Container, ContainerStatus, Pod, ResourceRequirements } from '../../../shared/kubernetes/api.ts';
import type { AllocatedPod } from '../allocated-pod.ts';
import type { PodAllocation } from '../pod-allocation.ts';

/** @param pod as its source has it, with its status */
export function reconstructActuated({ status }: Pod, { spec }: AllocatedPod): Pick<PodAllocation, 'containers' | 'podLevel'> {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const containers = [...(spec.initContainers ?? []), ...spec.containers].flatMap((container): [string, ResourceRequirements][] => {
    const reported = statuses.find(({ name }) => name === container.name);
    return isRunning(reported) ? [[container.name, reportedResources(container, reported)]] : [];
  });
  const podLevel = spec.resources && status?.resources && only(status.resources, spec.resources);
  return { containers: new Map(containers), ...(podLevel && { podLevel }) };
}

function isRunning(status: ContainerStatus | undefined): status is ContainerStatus {
  return status?.state?.running !== undefined;
}

function reportedResources({ resources = {} }: Container, { resources: reported }: ContainerStatus): ResourceRequirements {
  return reported ? only(reported, resources) : resources;
}

/** The reported amounts of what is allocated: the sum of the containers is more than the pod's own resources. */
function only(reported: ResourceRequirements, allocated: ResourceRequirements): ResourceRequirements {
  const pick = (kind: 'requests' | 'limits') => {
    const names = Object.entries(allocated[kind] ?? {});
    return names.length === 0
      ? {}
      : { [kind]: Object.fromEntries(names.map(([name, amount]) => [name, reported[kind]?.[name] ?? amount])) };
  };
  return { ...allocated, ...pick('requests'), ...pick('limits') };
}
