/**
 * Reconstructs the resources in force of a pod whose record is lost: from the status that this node has last reported, and from what the runtime reports
 * of running containers. Without it an unfinished resize would count as finished, and a resize that was never allocated would count as allocated. Upstream treats a
 * missing record as no resources at all, and restarts containers whose resize policy asks for a restart. Pure.
 */
import type { ActuatedResources } from '../../../shared/contracts/pod-sync/allocation.ts';
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { Container, ContainerStatus, Pod, ResourceRequirements } from '../../../shared/kubernetes/api.ts';
import { memoryLimitsOf } from '../../../shared/kubernetes/memory-volumes.ts';
import { restartsForMemory, withPodLimits } from '../../../shared/kubernetes/resizable-resources.ts';
import { withUnknownLimits } from '../actuated-resources.ts';
import { toAllocation, type AllocationGates, type PodAllocation } from '../pod-allocation.ts';
import { actualResources } from './actual-resources.ts';

/** Returns the allocation of a pod that this node runs; null for a pod that this node has not started. */
export function reconstructAllocation(pod: Pod, runtime: RuntimePodStatus | null, gates: AllocationGates): PodAllocation | null {
  const hasStarted = reportedContainers(pod).some(({ containerID }) => containerID) || (runtime?.containers.length ?? 0) > 0;
  if (!hasStarted) return null;
  const { podLevel: wanted, ...allocation } = toAllocation(pod, gates);
  const { containers, podLevel = wanted } = inForce(pod, pod, runtime, undefined);
  const statuses = reportedContainers(pod);
  // For a container that does not run, the reported status has the allocated resources.
  const allocatedOf = (name: string, resources: ResourceRequirements) =>
    containers.get(name) ??
    withReported(
      resources,
      statuses.find((status) => status.name === name),
    );
  return {
    containers: new Map([...allocation.containers].map(([name, resources]) => [name, ownOf(allocatedOf(name, resources), resources)])),
    ...(podLevel && { podLevel }),
    ...(allocation.emptyDirLimits && { emptyDirLimits: allocation.emptyDirLimits }),
  };
}

/** Removes the limits that a container inherits from its pod: they are not allocated to the container. No resize removes a container's own limit. */
function ownOf(actuated: ResourceRequirements, { limits: wanted = {} }: ResourceRequirements): ResourceRequirements {
  const { limits = {}, ...others } = actuated;
  const own = Object.entries(limits).filter(([name]) => Object.hasOwn(wanted, name));
  return own.length === 0 ? others : { ...others, limits: Object.fromEntries(own) };
}

/**
 * @param pod as its source has it, with its status
 * @param runtime null when the runtime's status is not known
 * @param gates InPlacePodLevelResourcesVerticalScaling, InPlacePodVerticalScalingMemoryBackedVolumes
 */
export function reconstructActuated(
  pod: Pod,
  allocated: Pod,
  runtime: RuntimePodStatus | null,
  { podLevel, memoryBackedVolumes }: Pick<AllocationGates, 'podLevel' | 'memoryBackedVolumes'>,
): ActuatedResources {
  const { resources } = allocated.spec;
  const reported = pod.status?.resources;
  const ofPod = podLevel ? resources && reported && reportedAmounts(reported, resources) : undefined;
  const found = withUnknownRequests(pod, runtime, inForce(pod, allocated, runtime, ofPod));
  return memoryBackedVolumes ? withUnknownLimits({ containers: new Map(), emptyDirLimits: memoryLimitsOf(allocated.spec) }, found) : found;
}

/**
 * Adds the running containers whose memory request in force is unknown; memory.min, memory.low and memory.high depend on the request. The runtime does not
 * report it. The reported status does, unless the earlier kubelet ended before its status showed the container as running. Containers that a change of
 * memory would restart are left out: they keep what they have.
 */
export function withUnknownRequests<T extends object>(
  pod: Pod,
  runtime: RuntimePodStatus | null,
  record: T,
): T & Pick<ActuatedResources, 'unknownMemoryRequests'> {
  const reported = new Set(reportedContainers(pod).flatMap(({ name, resources }) => (resources ? [name] : [])));
  const running = new Set(runtime?.containers.flatMap(({ name, state }) => (state === 'running' ? [name] : [])));
  const isUnknown = (container: Container) =>
    running.has(container.name) &&
    !reported.has(container.name) &&
    !restartsForMemory(container) &&
    container.resources?.requests?.['memory'] !== undefined;
  const names = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].filter(isUnknown).map(({ name }) => name);
  return names.length === 0 ? record : { ...record, unknownMemoryRequests: new Set(names) };
}

/** @param podLimits the pod-level resources whose limits a container without its own limits has */
function inForce(
  pod: Pod,
  { spec }: Pod,
  runtime: RuntimePodStatus | null,
  podLimits: ResourceRequirements | undefined,
): ActuatedResources {
  const reported = reportedContainers(pod);
  const containers = [...(spec.initContainers ?? []), ...spec.containers].flatMap((container): [string, ResourceRequirements][] => {
    const status = reported.find(({ name }) => name === container.name);
    const instance = runtime?.containers.find(({ name }) => name === container.name);
    const isRunning = runtime ? instance?.state === 'running' : status?.state?.running !== undefined;
    if (!isRunning) return [];
    const resources = withPodLimits(withReported(container.resources ?? {}, status), podLimits);
    const actual = instance?.resources ? actualResources(resources, instance.resources, resources.requests?.['memory']) : resources;
    return [[container.name, status?.resources ? actual : withEqualMemory(resources, actual)]];
  });
  const podLevel = spec.resources && pod.status?.resources && reportedAmounts(pod.status.resources, spec.resources);
  return { containers: new Map(containers), ...(podLevel && { podLevel }) };
}

/**
 * Returns `actual` with a memory request that equals the limit, if it does in the spec. Nobody knows the request in force, but no resize changes the QoS
 * class, so a request that equals its limit does so after each resize.
 */
function withEqualMemory({ requests, limits }: ResourceRequirements, actual: ResourceRequirements): ResourceRequirements {
  const limit = actual.limits?.['memory'];
  if (limit === undefined || requests?.['memory'] === undefined || requests['memory'] !== limits?.['memory']) return actual;
  return { ...actual, requests: { ...actual.requests, memory: limit } };
}

function reportedContainers({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

/** Returns CPU and memory as the status reports them. All other resources can't be resized: they are those of the spec. */
function withReported(resources: ResourceRequirements, status: ContainerStatus | undefined): ResourceRequirements {
  const reported = status?.resources;
  if (!reported) return resources;
  const list = (kind: 'requests' | 'limits') => {
    const { cpu: _, memory: __, ...others } = resources[kind] ?? {};
    const { cpu, memory } = reported[kind] ?? {};
    const amounts = { ...others, ...(cpu !== undefined && { cpu }), ...(memory !== undefined && { memory }) };
    return Object.keys(amounts).length === 0 ? {} : { [kind]: amounts };
  };
  const { requests: _, limits: __, ...others } = resources;
  return { ...others, ...list('requests'), ...list('limits') };
}

/**
 * Returns the reported amounts of the resources that the pod's own `allocated` resources have. The status of a pod also reports the sum of its containers
 * for resources that the pod itself does not have.
 */
function reportedAmounts(reported: ResourceRequirements, allocated: ResourceRequirements): ResourceRequirements {
  const pick = (kind: 'requests' | 'limits') => {
    const names = Object.entries(allocated[kind] ?? {});
    return names.length === 0
      ? {}
      : { [kind]: Object.fromEntries(names.map(([name, amount]) => [name, reported[kind]?.[name] ?? amount])) };
  };
  return { ...allocated, ...pick('requests'), ...pick('limits') };
}
