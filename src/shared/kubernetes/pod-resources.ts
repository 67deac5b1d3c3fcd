/**
 * Computes the effective requests and limits of a pod (upstream component-helpers resource/helpers.go): the greater of the sum of
 * containers and sidecars, and the peak of the init containers. Pod-level resources override this value. Overhead is added last.
 */
import type { Pod, PodSpec } from './api.ts';
import { addQuantities, compareQuantities, isZeroQuantity, parseQuantity, type Quantity } from './quantity.ts';
import { isRestartableInitContainer } from './restart-policy.ts';

/** Quantities by resource name. An absent name is not requested, which differs from zero. */
export type ResourceAmounts = Readonly<Record<string, Quantity>>;

export interface PodResourcesOptions {
  /** Excludes the runtime class's overhead. */
  readonly excludeOverhead?: boolean;
  /** Ignores the pod-level resources. */
  readonly skipPodLevel?: boolean;
  /** Called with each container's effective amounts. The amounts of an init container include the sidecars that start before it. */
  readonly onContainer?: (amounts: ResourceAmounts, type: 'container' | 'initContainer') => void;
}

type PodWithSpec = { readonly spec: Pod['spec'] };
type Kind = 'requests' | 'limits';

export function podRequests(pod: PodWithSpec, options: PodResourcesOptions = {}): ResourceAmounts {
  const requests = aggregate(pod.spec, 'requests', options);
  if (!options.skipPodLevel) Object.assign(requests, podLevel(pod.spec, 'requests'));
  return options.excludeOverhead ? requests : add(requests, amountsOf(pod.spec.overhead));
}

export function podLimits(pod: PodWithSpec, options: PodResourcesOptions = {}): ResourceAmounts {
  const limits = aggregate(pod.spec, 'limits', options);
  if (!options.skipPodLevel) Object.assign(limits, podLevel(pod.spec, 'limits'));
  if (options.excludeOverhead) return limits;
  for (const [name, overhead] of Object.entries(amountsOf(pod.spec.overhead))) {
    // Overhead adds to existing limits only. A resource without a limit stays unlimited.
    const limit = amountOf(limits, name);
    if (limit && !isZeroQuantity(limit)) limits[name] = addQuantities(limit, overhead);
  }
  return limits;
}

/** Pods may set pod-level resources for CPU, memory and hugepages only. */
export function isPodLevelResource(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name.startsWith('hugepages-');
}

/** Whether the pod sets at least one supported pod-level resource. */
export function hasPodLevelResources(spec: PodSpec): boolean {
  return [...Object.keys(spec.resources?.requests ?? {}), ...Object.keys(spec.resources?.limits ?? {})].some(isPodLevelResource);
}

type Amounts = Record<string, Quantity>;

function aggregate(spec: PodSpec, kind: Kind, { onContainer }: PodResourcesOptions): Amounts {
  let sum: Amounts = {};
  for (const container of spec.containers) {
    const containerAmounts = amountsOf(container.resources?.[kind]);
    onContainer?.(containerAmounts, 'container');
    sum = add(sum, containerAmounts);
  }
  let sidecars: Amounts = {};
  let initPeak: Amounts = {};
  for (const container of spec.initContainers ?? []) {
    const amounts = amountsOf(container.resources?.[kind]);
    let concurrent = add(amounts, sidecars);
    if (isRestartableInitContainer(container)) {
      sum = add(sum, amounts);
      sidecars = add(sidecars, amounts);
      concurrent = sidecars;
    }
    onContainer?.(concurrent, 'initContainer');
    initPeak = max(initPeak, concurrent);
  }
  return max(sum, initPeak);
}

function podLevel(spec: PodSpec, kind: Kind): Amounts {
  return Object.fromEntries(Object.entries(amountsOf(spec.resources?.[kind])).filter(([name]) => isPodLevelResource(name)));
}

function amountsOf(list: Readonly<Record<string, string>> | undefined): Amounts {
  return Object.fromEntries(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

/** A resource name may equal a property of Object.prototype. */
function amountOf(list: ResourceAmounts, name: string): Quantity | undefined {
  return Object.hasOwn(list, name) ? list[name] : undefined;
}

function add(list: Amounts, more: ResourceAmounts): Amounts {
  const sum = { ...list };
  for (const [name, quantity] of Object.entries(more)) {
    const previousAmount = amountOf(sum, name);
    sum[name] = previousAmount ? addQuantities(previousAmount, quantity) : quantity;
  }
  return sum;
}

function max(list: Amounts, other: ResourceAmounts): Amounts {
  const greatest = { ...list };
  for (const [name, quantity] of Object.entries(other)) {
    const previousAmount = amountOf(greatest, name);
    if (!previousAmount || compareQuantities(quantity, previousAmount) > 0) greatest[name] = quantity;
  }
  return greatest;
}
