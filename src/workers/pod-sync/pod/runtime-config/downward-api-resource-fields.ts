/**
 * Resolves the downward API's resourceFieldRef (upstream pkg/api/v1/resource, pkg/kubelet/kubelet_resources.go). Values are in units of the
 * divisor, rounded up. The default of a missing limit is the pod's limit, else the node's allocatable amount.
 */
import type { NodeResources } from '../../../../shared/contracts/node-info.ts';
import type { Container, Pod, ResourceRequirements } from '../../../../shared/kubernetes/api.ts';
import { isZeroQuantity, milliValue, type Quantity, quantityOf, type QuantityLike, value } from '../../../../shared/kubernetes/quantity.ts';

export interface ResourceFieldRef {
  readonly containerName?: string;
  readonly divisor?: string;
  readonly resource: string;
}

type HasResources = { readonly resources?: ResourceRequirements };

const defaultedResources = ['cpu', 'memory', 'ephemeral-storage'];

/**
 * Returns the value of an environment variable, by default of the container itself. Throws an Error that names an unknown container or
 * resource.
 */
export function envResourceField(
  ref: ResourceFieldRef,
  pod: Pod,
  container: HasResources,
  node: NodeResources,
  podLevelResources: boolean,
): string {
  const defaults = defaultLimits(pod, node, podLevelResources);
  if (!ref.containerName) return resourceField(ref, container, defaults);
  const regular = pod.spec.containers.find(({ name }) => name === ref.containerName);
  // Here, upstream has defaults only for regular containers.
  return resourceField(ref, regular ?? findContainer(pod, ref.containerName), regular ? defaults : {});
}

/** Returns the content of a downward API file. The container must be named, and the node's amounts are the defaults. */
export function fileResourceField(ref: ResourceFieldRef, pod: Pod, node: NodeResources): string {
  return resourceField(ref, findContainer(pod, ref.containerName ?? ''), defaultLimits(pod, node, false));
}

function findContainer({ spec }: Pod, name: string): Container {
  const namedContainer = [...spec.containers, ...(spec.initContainers ?? [])].find((container) => container.name === name);
  if (!namedContainer) throw new Error(`container ${name} not found`);
  return namedContainer;
}

type Limits = Readonly<Record<string, QuantityLike>>;

function defaultLimits({ spec }: Pod, node: NodeResources, podLevelResources: boolean): Limits {
  const allocatable: Record<string, Quantity> = {
    cpu: { nanos: BigInt(Math.round(node.milliCPU)) * 1_000_000n, format: 'DecimalSI' },
    memory: quantityOf(Math.round(node.memoryBytes), 'BinarySI'),
    'ephemeral-storage': quantityOf(Math.round(node.ephemeralStorageBytes), 'BinarySI'),
  };
  if (!podLevelResources) return allocatable;
  const podLimits = Object.entries(spec.resources?.limits ?? {}).filter(
    ([name, limit]) => (name === 'cpu' || name === 'memory') && !isZeroQuantity(limit),
  );
  return { ...allocatable, ...Object.fromEntries(podLimits) };
}

function resourceField({ resource, divisor }: ResourceFieldRef, { resources }: HasResources, defaults: Limits): string {
  const [, kind, name] = /^(requests|limits)\.(.*)$/.exec(resource) ?? [];
  if (!kind || !name || !(defaultedResources.includes(name) || name.startsWith('hugepages-'))) {
    throw new Error(`unsupported container resource : ${resource}`);
  }
  const declaredAmount = kind === 'limits' ? resources?.limits?.[name] : resources?.requests?.[name];
  const amount: QuantityLike = kind === 'limits' && isZeroQuantity(declaredAmount) ? defaults[name] : declaredAmount;
  const unit: QuantityLike = isZeroQuantity(divisor) ? '1' : divisor;
  const inUnits = name === 'cpu' ? milliValue(amount) / milliValue(unit) : value(amount) / value(unit);
  return String(Math.ceil(inUnits));
}
