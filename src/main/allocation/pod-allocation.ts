/**
 * A pod's allocated resources: those of its spec at admission, or at its last resize. They stay in force when the spec changes, until a resize to
 * the new ones is accepted: admission counts them, the status shows them, and containers get them. Upstream: pkg/kubelet/allocation.
 */
import type { resourceTruth } from '../../shared/contracts/pod-sync/allocation.ts';
import type { Container, Pod, ResourceRequirements, Volume } from '../../shared/kubernetes/api.ts';
import { memoryLimitOf, memoryLimitsOf } from '../../shared/kubernetes/memory-volumes.ts';
import { compareQuantities } from '../../shared/kubernetes/quantity.ts';
import { isRestartableInitContainer } from '../../shared/kubernetes/restart-policy.ts';

export interface PodAllocation extends RecordedResources {
  /** Exists only as a type: keeps allocated resources apart from actuated ones. */
  readonly [resourceTruth]?: 'allocated';
}

/** The resources of one pod in a checkpoint: in `allocated_pods_state` the allocated ones, in `actuated_pods_state` those in force. */
export interface RecordedResources {
  /** By container name; only containers that can be resized. */
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  readonly podLevel?: ResourceRequirements;
  /** The size limits of volumes in memory, by volume. */
  readonly emptyDirLimits?: ReadonlyMap<string, string>;
  /** Fields of a checkpoint that this kubelet does not know. */
  readonly others?: Readonly<Record<string, unknown>>;
}

export interface AllocationGates {
  /** Gate InPlacePodLevelResourcesVerticalScaling. */
  readonly podLevel: boolean;
  /** Gate InPlacePodVerticalScalingInitContainers. */
  readonly initContainers: boolean;
  /** Gate InPlacePodVerticalScalingMemoryBackedVolumes. Default: off. */
  readonly memoryBackedVolumes?: boolean;
}

/** Returns the allocation of a pod at its admission. */
export function toAllocation({ spec }: Pod, gates: AllocationGates): PodAllocation {
  const init = (spec.initContainers ?? []).filter((container) => gates.initContainers || isRestartableInitContainer(container));
  const containers = new Map([...init, ...spec.containers].map(({ name, resources = {} }) => [name, resources]));
  const limits = gates.memoryBackedVolumes ? memoryLimitsOf(spec) : new Map<string, string>();
  return {
    containers,
    ...(gates.podLevel && spec.resources && { podLevel: spec.resources }),
    ...(limits.size > 0 && { emptyDirLimits: limits }),
  };
}

/**
 * Returns the pod with its allocated resources; the same object when they equal those of the spec. Containers that share a name, which only an invalid
 * pod has, can't be resized: they keep the resources of the spec.
 */
export function withAllocation(pod: Pod, allocation: RecordedResources, gates: AllocationGates): Pod {
  const { containers, initContainers, resources, volumes, ...spec } = pod.spec;
  const repeated = repeatedNames(pod);
  const isPodLevelSame = !gates.podLevel || isSameRequirements(resources, allocation.podLevel);
  const allocatedVolumes = gates.memoryBackedVolumes ? volumes?.map(allocatedVolume) : volumes;
  const areVolumesSame = volumes === undefined || volumes.every((volume, index) => volume === allocatedVolumes?.[index]);
  const isSame =
    isPodLevelSame && areVolumesSame && [...containers, ...(initContainers ?? [])].every((container) => allocated(container) === container);
  return isSame
    ? pod
    : {
        ...pod,
        spec: {
          ...spec,
          containers: containers.map(allocated),
          ...(initContainers && { initContainers: initContainers.map(allocated) }),
          ...(allocatedVolumes && { volumes: allocatedVolumes }),
          ...withResources(isPodLevelSame ? resources : allocation.podLevel),
        },
      };

  function allocatedVolume(volume: Volume): Volume {
    const limit = allocation.emptyDirLimits?.get(volume.name);
    const { emptyDir } = volume;
    if (limit === undefined || !emptyDir || memoryLimitOf(volume) === undefined || isSameAmount(limit, emptyDir.sizeLimit)) return volume;
    return { ...volume, emptyDir: { ...emptyDir, sizeLimit: limit } };
  }

  function allocated(container: Container): Container {
    const allocatedResources = repeated.has(container.name) ? undefined : allocation.containers.get(container.name);
    return !allocatedResources || isSameRequirements(container.resources, allocatedResources)
      ? container
      : { ...container, resources: allocatedResources };
  }
}

/** Returns the names that more than one container has. */
function repeatedNames({ spec }: Pod): ReadonlySet<string> {
  const seen = new Set<string>();
  return new Set(
    [...(spec.initContainers ?? []), ...spec.containers].flatMap(({ name }) => {
      if (seen.has(name)) return [name];
      seen.add(name);
      return [];
    }),
  );
}

function withResources(resources: ResourceRequirements | undefined): { resources?: ResourceRequirements } {
  return resources ? { resources } : {};
}

export function isSameRequirements(a: ResourceRequirements = {}, b: ResourceRequirements = {}): boolean {
  if (a === b) return true;
  const claims = (list: ResourceRequirements['claims'] = []) => list.map(({ name, request }) => `${name}/${request}`).join();
  return isSameList(a.requests, b.requests) && isSameList(a.limits, b.limits) && claims(a.claims) === claims(b.claims);
}

/** Whether both have the same resources. `Truth` lets nobody compare allocated with actuated resources by mistake. */
export function isSameAllocation<Truth extends RecordedResources>(a: Truth, b: Truth): boolean {
  const names = new Set([...a.containers.keys(), ...b.containers.keys()]);
  return (
    isSameRequirements(a.podLevel, b.podLevel) &&
    [...names].every((name) => isSameRequirements(a.containers.get(name), b.containers.get(name))) &&
    isSameList(Object.fromEntries(a.emptyDirLimits ?? []), Object.fromEntries(b.emptyDirLimits ?? [])) &&
    a.others === b.others
  );
}

/** Returns the greater amount of each resource. The sizes of volumes are left out: they are no part of a pod's requests and limits. */
export function greaterOf(a: PodAllocation, b: PodAllocation): PodAllocation {
  const names = new Set([...a.containers.keys(), ...b.containers.keys()]);
  const containers = new Map([...names].map((name) => [name, greaterRequirements(a.containers.get(name), b.containers.get(name))]));
  const podLevel = a.podLevel && b.podLevel ? greaterRequirements(a.podLevel, b.podLevel) : (a.podLevel ?? b.podLevel);
  return { containers, ...(podLevel && { podLevel }) };
}

function greaterRequirements(a: ResourceRequirements = {}, b: ResourceRequirements = {}): ResourceRequirements {
  return { ...a, ...b, requests: greaterList(a.requests, b.requests), limits: greaterList(a.limits, b.limits) };
}

function greaterList(a: ResourceList = {}, b: ResourceList = {}): ResourceList {
  const isGreaterInA = (name: string) => b[name] === undefined || (a[name] !== undefined && compareQuantities(a[name], b[name]) > 0);
  return { ...b, ...Object.fromEntries(Object.entries(a).filter(([name]) => isGreaterInA(name))) };
}

type ResourceList = Readonly<Record<string, string>>;

/** Compares quantities by value: `1` equals `1000m`. */
function isSameList(a: ResourceList = {}, b: ResourceList = {}): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && (a[name] === b[name] || isSameAmount(a[name], b[name])));
}

/** An invalid quantity equals nothing: the pod keeps its allocation, and other pods' admissions do not fail. */
function isSameAmount(a: string | undefined, b: string | undefined): boolean {
  try {
    return compareQuantities(a, b) === 0;
  } catch {
    return false;
  }
}
