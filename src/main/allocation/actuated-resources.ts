/**
 * The resources that are in force in a pod's running containers and in the pod, as the checkpoint `actuated_pods_state` records them. A Go kubelet that
 * takes over resizes each running container without a record, and restarts a container whose resize policy says so. Pure. Upstream:
 * setActuatedContainerResources and UpdateActuatedPodLevelResources in pkg/kubelet/kuberuntime.
 */
import type { ActuatedPod, resourceTruth } from '../../shared/contracts/pod-sync/allocation.ts';
import type { Pod, ResourceRequirements } from '../../shared/kubernetes/api.ts';
import { withPodLimits } from '../../shared/kubernetes/resizable-resources.ts';
import type { PodAllocation, RecordedResources } from './pod-allocation.ts';

export interface ActuatedRecord extends RecordedResources {
  /** Exists only as a type: keeps actuated resources apart from allocated ones. */
  readonly [resourceTruth]?: 'actuated';
  /** Running containers whose memory request in force nobody knows. Not in the checkpoint. */
  readonly unknownMemoryRequests?: ReadonlySet<string>;
}

/**
 * The recorded size limit of a memory-backed volume whose record was lost: nothing reports the size in force. Zero is less than any size, so the next
 * sync sets the allocated one. A Go kubelet does so, too.
 */
export const unknownLimit = '0';

export function withUnknownLimits<T extends { readonly emptyDirLimits?: ReadonlyMap<string, string> }>(
  { emptyDirLimits }: PodAllocation,
  record: T,
): T {
  const limits = [...(emptyDirLimits?.keys() ?? [])].map((name) => [name, unknownLimit] as const);
  return limits.length === 0 ? record : { ...record, emptyDirLimits: new Map(limits) };
}

/** Only for a pod whose spec has the resources in force, such as a pod without a record of actuated resources. */
export function asActuated(pod: Pod): ActuatedPod {
  return pod as ActuatedPod;
}

/**
 * Returns what is in force: where there is a record, the recorded resources, since a resize may not be finished; otherwise the allocated ones. A
 * container that does not run yet has a record too, which nobody reads before the container runs.
 */
export function computeActuated(allocation: PodAllocation, recorded: ActuatedRecord | undefined): ActuatedRecord {
  const containers = [...allocation.containers].map(([name, resources]): [string, ResourceRequirements] => [
    name,
    recorded?.containers.get(name) ?? withPodLimits(resources, allocation.podLevel),
  ]);
  const podLevel = recorded?.podLevel ?? allocation.podLevel;
  const { emptyDirLimits } = allocation;
  const { unknownMemoryRequests } = recorded ?? {};
  return {
    containers: new Map(containers),
    ...(podLevel && (podLevel.requests || podLevel.limits) && { podLevel }),
    ...(unknownMemoryRequests && { unknownMemoryRequests }),
    ...(emptyDirLimits && {
      emptyDirLimits: new Map([...emptyDirLimits].map(([name, limit]) => [name, recorded?.emptyDirLimits?.get(name) ?? limit])),
    }),
  };
}
