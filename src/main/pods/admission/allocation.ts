/**
 * The resources that a pod was admitted with. They stay in force while its spec asks for others, which this kubelet cannot give to containers
 * that run: in what admission counts, in the status, and in each container that is started again. Upstream: pkg/kubelet/allocation.
 */
import type { Container, Pod, ResourceRequirements } from '../../../shared/kubernetes/api.ts';
import { compareQuantities } from '../../../shared/kubernetes/quantity.ts';
import { isRestartableInitContainer } from '../../../shared/kubernetes/restart-policy.ts';

export interface PodAllocation {
  /** By name: of those that can be resized. */
  readonly containers: ReadonlyMap<string, ResourceRequirements>;
  readonly podLevel?: ResourceRequirements;
}

export interface AllocationGates {
  /** Gate InPlacePodLevelResourcesVerticalScaling. */
  readonly podLevel: boolean;
  /** Gate InPlacePodVerticalScalingInitContainers. */
  readonly initContainers: boolean;
}

/** What is recorded when the pod is admitted. */
export function toAllocation({ spec }: Pod, gates: AllocationGates): PodAllocation {
  const init = (spec.initContainers ?? []).filter((container) => gates.initContainers || isRestartableInitContainer(container));
  const containers = new Map([...init, ...spec.containers].map(({ name, resources = {} }) => [name, resources]));
  return { containers, ...(gates.podLevel && spec.resources && { podLevel: spec.resources }) };
}

/** The pod with the resources that it was admitted with: the same object when its spec asks for no others. */
export function withAllocation(pod: Pod, allocation: PodAllocation, gates: AllocationGates): Pod {
  const { containers, initContainers, resources, ...spec } = pod.spec;
  const isPodLevelSame = !gates.podLevel || isSameRequirements(resources, allocation.podLevel);
  const isSame = isPodLevelSame && [...containers, ...(initContainers ?? [])].every((container) => allocated(container) === container);
  return isSame
    ? pod
    : {
        ...pod,
        spec: {
          ...spec,
          containers: containers.map(allocated),
          ...(initContainers && { initContainers: initContainers.map(allocated) }),
          ...withResources(isPodLevelSame ? resources : allocation.podLevel),
        },
      };

  function allocated(container: Container): Container {
    const granted = allocation.containers.get(container.name);
    return !granted || isSameRequirements(container.resources, granted) ? container : { ...container, resources: granted };
  }
}

function withResources(resources: ResourceRequirements | undefined): { resources?: ResourceRequirements } {
  return resources ? { resources } : {};
}

function isSameRequirements(a: ResourceRequirements = {}, b: ResourceRequirements = {}): boolean {
  if (a === b) return true;
  const claims = (list: ResourceRequirements['claims'] = []) => list.map(({ name, request }) => `${name}/${request}`).join();
  return isSameList(a.requests, b.requests) && isSameList(a.limits, b.limits) && claims(a.claims) === claims(b.claims);
}

type ResourceList = Readonly<Record<string, string>>;

/** By value: `1` is `1000m`. */
function isSameList(a: ResourceList = {}, b: ResourceList = {}): boolean {
  const names = Object.keys(a);
  if (names.length !== Object.keys(b).length) return false;
  return names.every((name) => Object.hasOwn(b, name) && (a[name] === b[name] || isSameAmount(a[name], b[name])));
}

/** One that is no amount is not the same: a pod keeps what it was admitted with, and stops nobody else's admission. */
function isSameAmount(a: string | undefined, b: string | undefined): boolean {
  try {
    return compareQuantities(a, b) === 0;
  } catch {
    return false;
  }
}
