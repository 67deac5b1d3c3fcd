/**
 * Reconstructs what is in force in a pod whose record is lost: from the status that this node has last reported, and from what the runtime reports of
 * running containers. Without it a resize that was not finished would count as finished, and one that is not allocated as allocated; upstream takes a
 * missing record for no resources at all, and restarts containers whose policy asks for it. Pure.
 */
import type { ActuatedResources } from '../../../shared/contracts/pod-sync/allocation.ts';
import type { RuntimePodStatus } from '../../../shared/contracts/runtime-status.ts';
import type { ContainerStatus, Pod, ResourceRequirements } from '../../../shared/kubernetes/api.ts';
import { memoryLimitsOf } from '../../../shared/kubernetes/memory-volumes.ts';
import { withPodLimits } from '../../../shared/kubernetes/resizable-resources.ts';
import { withUnknownLimits } from '../actuated-resources.ts';
import { toAllocation, type AllocationGates, type PodAllocation } from '../pod-allocation.ts';
import { actualResources } from './actual-resources.ts';

/** Returns the allocation of a pod that this node runs, and null of one that it has not started. */
export function reconstructAllocation(pod: Pod, runtime: RuntimePodStatus | null, gates: AllocationGates): PodAllocation | null {
  const hasStarted = reportedContainers(pod).some(({ containerID }) => containerID) || (runtime?.containers.length ?? 0) > 0;
  if (!hasStarted) return null;
  const { podLevel: wanted, ...allocation } = toAllocation(pod, gates);
  const { containers, podLevel = wanted } = inForce(pod, pod, runtime, undefined);
  const statuses = reportedContainers(pod);
  // The status of a container that does not run has what was allocated.
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

/** Without the limits of its pod, which no container is allocated. A resize removes no limit of a container. */
function ownOf(inForce: ResourceRequirements, { limits: wanted = {} }: ResourceRequirements): ResourceRequirements {
  const { limits = {}, ...others } = inForce;
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
  const ofPod = podLevel ? resources && reported && only(reported, resources) : undefined;
  const found = withUnknownRequests(pod, runtime, inForce(pod, allocated, runtime, ofPod));
  return memoryBackedVolumes ? withUnknownLimits({ containers: new Map(), emptyDirLimits: memoryLimitsOf(allocated.spec) }, found) : found;
}

/**
 * The runtime does not report requests for memory, which memory.min, memory.low and memory.high depend on. The status that this node has last reported does, unless
 * the kubelet before this one has ended before it showed the container as running. A container that would be restarted for it keeps what it has.
 */
export function withUnknownRequests<T extends object>(
  pod: Pod,
  runtime: RuntimePodStatus | null,
  record: T,
): T & Pick<ActuatedResources, 'unknownMemoryRequests'> {
  const reported = new Set(reportedContainers(pod).flatMap(({ name, resources }) => (resources ? [name] : [])));
  const running = new Set(runtime?.containers.flatMap(({ name, state }) => (state === 'running' ? [name] : [])));
  const names = [...(pod.spec.initContainers ?? []), ...pod.spec.containers].flatMap(({ name, resources, resizePolicy = [] }) => {
    const mustRestart = resizePolicy.some(
      ({ resourceName, restartPolicy }) => resourceName === 'memory' && restartPolicy === 'RestartContainer',
    );
    return running.has(name) && !reported.has(name) && !mustRestart && resources?.requests?.['memory'] !== undefined ? [name] : [];
  });
  return names.length === 0 ? record : { ...record, unknownMemoryRequests: new Set(names) };
}

/** @param podLimits whose limits a container without its own has */
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
  const podLevel = spec.resources && pod.status?.resources && only(pod.status.resources, spec.resources);
  return { containers: new Map(containers), ...(podLevel && { podLevel }) };
}

/** Nobody knows the request in force. One that equals its limit does so after each resize: none changes the QoS class. */
function withEqualMemory({ requests, limits }: ResourceRequirements, actual: ResourceRequirements): ResourceRequirements {
  const limit = actual.limits?.['memory'];
  if (limit === undefined || requests?.['memory'] === undefined || requests['memory'] !== limits?.['memory']) return actual;
  return { ...actual, requests: { ...actual.requests, memory: limit } };
}

function reportedContainers({ status }: Pod): readonly ContainerStatus[] {
  return [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
}

/** CPU and memory as reported, the others as wanted: they can't be resized. */
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
