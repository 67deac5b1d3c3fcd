/**
 * Requests and limits in the downward API (upstream pkg/api/v1/resource, pkg/kubelet/kubelet_resources.go): in units of the divisor,
 * rounded up. A container without a limit sees what it could use: the pod's, else the node's.
 */
import type { NodeResources } from '../../../shared/contracts/node-facts.ts';
import type { Container, Pod, ResourceRequirements } from '../../../shared/kubernetes/api.ts';
import { isZeroQuantity, milliValue, type Quantity, quantityOf, type QuantityLike, value } from '../../../shared/kubernetes/quantity.ts';

export interface ResourceFieldRef {
  readonly containerName?: string;
  readonly divisor?: string;
  readonly resource: string;
}

type HasResources = { readonly resources?: ResourceRequirements };

const defaultedResources = ['cpu', 'memory', 'ephemeral-storage'];

/** An environment variable's value: of the container itself, or of the one that is named. Throws an Error that names what is unknown. */
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
  // Upstream gives only regular containers defaults here.
  return resourceField(ref, regular ?? containerNamed(pod, ref.containerName), regular ? defaults : {});
}

/** A downward API file's content: always of a named container, with the node's defaults. */
export function fileResourceField(ref: ResourceFieldRef, pod: Pod, node: NodeResources): string {
  return resourceField(ref, containerNamed(pod, ref.containerName ?? ''), defaultLimits(pod, node, false));
}

function containerNamed({ spec }: Pod, name: string): Container {
  const found = [...spec.containers, ...(spec.initContainers ?? [])].find((container) => container.name === name);
  if (!found) throw new Error(`container ${name} not found`);
  return found;
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
  const own = kind === 'limits' ? resources?.limits?.[name] : resources?.requests?.[name];
  const amount: QuantityLike = kind === 'limits' && isZeroQuantity(own) ? defaults[name] : own;
  const unit: QuantityLike = isZeroQuantity(divisor) ? '1' : divisor;
  const inUnits = name === 'cpu' ? milliValue(amount) / milliValue(unit) : value(amount) / value(unit);
  return String(Math.ceil(inUnits));
}
