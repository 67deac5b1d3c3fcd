/** Computes the resources in the middle of a resize, when only memory or only CPU has its allocated amount already. Pure. */
import type { ActuatedPod, ActuatedResources } from '../../../../shared/contracts/pod-sync/allocation.ts';
import type { LinuxContainerResources } from '../../../../shared/cri/generated/cri-v1.ts';
import type { Container, Pod, ResourceRequirements } from '../../../../shared/kubernetes/api.ts';
import type { PodCgroupPart } from '../../cgroups/index.ts';
import type { ResizedResource } from '../compute-pod-actions/index.ts';

/**
 * Returns the amounts of `after` for the resources in `inForce`, and of `before` for the others. Resources that can't be resized come from `after`: `before`
 * may be the record of a Go kubelet, which may not have them.
 */
export function mixedRequirements(
  before: ResourceRequirements,
  after: ResourceRequirements,
  inForce: ReadonlySet<ResizedResource>,
): ResourceRequirements {
  const { claims } = after;
  return { ...(claims && { claims }), ...mixedList('requests', before, after, inForce), ...mixedList('limits', before, after, inForce) };
}

function mixedList(
  kind: 'requests' | 'limits',
  { [kind]: before = {} }: ResourceRequirements,
  { [kind]: after = {} }: ResourceRequirements,
  inForce: ReadonlySet<ResizedResource>,
): ResourceRequirements {
  const select = (list: Readonly<Record<string, string>>, isWanted: (name: string) => boolean) =>
    Object.entries(list).filter(([name]) => isWanted(name));
  const isAfter = (name: string) => inForce.has(name as ResizedResource) || (name !== 'cpu' && name !== 'memory');
  const list = Object.fromEntries([...select(before, (name) => !isAfter(name)), ...select(after, isAfter)]);
  return Object.keys(list).length === 0 ? {} : { [kind]: list };
}

/** Returns the pod with the resources that were in force before the resize. */
export function withActuated(pod: Pod, { containers, podLevel }: ActuatedResources): ActuatedPod {
  const before = (container: Container): Container => {
    const resources = containers.get(container.name);
    return resources ? { ...container, resources } : container;
  };
  const { initContainers, resources, ...spec } = pod.spec;
  const actuated: Pod = {
    ...pod,
    spec: {
      ...spec,
      containers: spec.containers.map(before),
      ...(initContainers && { initContainers: initContainers.map(before) }),
      ...((podLevel ?? resources) && { resources: podLevel ?? resources }),
    },
  };
  return actuated as ActuatedPod;
}

/** Returns the values of the pod's cgroup with one part changed. */
export function withPart(before: LinuxContainerResources, after: LinuxContainerResources, part: PodCgroupPart): LinuxContainerResources {
  switch (part) {
    case 'memory':
      return { ...before, memoryLimitInBytes: after.memoryLimitInBytes, unified: { ...before.unified, ...after.unified } };
    case 'quota':
      return { ...before, cpuQuota: after.cpuQuota, cpuPeriod: after.cpuPeriod };
    case 'shares':
      return { ...before, cpuShares: after.cpuShares };
    default:
      return part satisfies never;
  }
}
